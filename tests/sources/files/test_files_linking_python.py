"""What Python files refer to: the files that they import, libraries, and the scopes that they use."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent.documents.formats import parse
from detent.sources.files.folder import Folder
from detent.sources.files.linking import Linked, Roots, links
from detent.sources.files.settings import FolderSettings


def linked(root: Path, path: str, text: str, *others: str) -> Linked:
    """What is found in a file, in a folder that has others too."""
    for each in (path, *others):
        (root / each).parent.mkdir(parents=True, exist_ok=True)
        (root / each).touch()
    return links(path, parse(text.encode(), path), Roots(Folder(FolderSettings(root))))


def imported(found: Linked) -> list[str]:
    return [each.key for each in found.references.get("", ()) if each.type == "IMPORTS"]


def consumed(found: Linked, part: str) -> list[tuple[str, str]]:
    references = found.references.get(part, ())
    return [(each.properties["kind"], each.key) for each in references if each.type == "CONSUMES"]


def test_a_module_of_the_project_is_a_file_in_whose_place_a_package_may_be(tmp_path: Path) -> None:
    found = linked(tmp_path, "pkg/mod.py", "import pkg.base\n", "pyproject.toml", "pkg/__init__.py")
    assert imported(found) == ["pkg/base.py"]
    assert {(each.type, each.label) for each in found.references[""]} == {("IMPORTS", "File")}


def test_packages_are_found_under_src(tmp_path: Path) -> None:
    found = linked(tmp_path, "tests/test_it.py", "import pkg.base\n", "pyproject.toml", "src/pkg/__init__.py")
    assert imported(found) == ["src/pkg/base.py"]


def test_packages_beside_the_own_one_are_found_without_a_marker(tmp_path: Path) -> None:
    found = linked(tmp_path, "deep/app/views.py", "import app.models\n", "deep/app/__init__.py")
    assert imported(found) == ["deep/app/models.py"]


def test_scripts_import_their_neighbours(tmp_path: Path) -> None:
    found = linked(tmp_path, "scripts/run.py", "import tool\n", "scripts/tool.py", "pyproject.toml")
    assert imported(found) == ["scripts/tool.py"]


def test_an_imported_name_may_be_a_module_or_something_in_one(tmp_path: Path) -> None:
    found = linked(tmp_path, "pkg/mod.py", "from pkg import thing\n", "pkg/__init__.py")
    assert imported(found) == ["pkg.py", "pkg/thing.py"]


def test_relative_imports_begin_at_the_own_package(tmp_path: Path) -> None:
    found = linked(tmp_path, "a/b/mod.py", "from . import near\nfrom ..far import thing\n")
    assert imported(found) == ["a/b.py", "a/b/near.py", "a/far.py", "a/far/thing.py"]


def test_what_is_called_like_a_class_is_a_module_only_at_the_top_or_beside_the_file(tmp_path: Path) -> None:
    found = linked(tmp_path, "a/b/mod.py", "from a.far import Thing, LIMIT\n", "a/__init__.py")
    assert imported(found) == ["a/far.py"]
    found = linked(tmp_path, "a/b/mod.py", "from . import Near\nfrom a import Image\n")
    assert imported(found) == ["a/b.py", "a/b/Near.py", "a.py", "a/Image.py"]


def test_a_package_does_not_import_itself(tmp_path: Path) -> None:
    found = linked(tmp_path, "a/b/__init__.py", "from . import near\nimport a.b\n", "a/__init__.py")
    assert imported(found) == ["a/b/near.py"]
    assert imported(linked(tmp_path, "__init__.py", "from . import near\n")) == ["near.py"]


def test_relative_imports_out_of_the_root_lead_nowhere(tmp_path: Path) -> None:
    found = linked(tmp_path, "a/mod.py", "from ... import x\nfrom ...y import z\n")
    assert not found.references
    assert not found.mentions


def test_other_modules_are_libraries_each_mentioned_once(tmp_path: Path) -> None:
    found = linked(tmp_path, "mod.py", "import numpy as np\nimport numpy.linalg\nfrom os import path\n")
    assert imported(found) == ["python:numpy", "python:os"]
    assert [(each.label, each.key, each.node.title) for each in found.mentions] == [
        ("Library", "python:numpy", "numpy"),
        ("Library", "python:os", "os"),
    ]


def test_the_future_is_no_library(tmp_path: Path) -> None:
    assert not linked(tmp_path, "mod.py", "from __future__ import annotations\n").mentions


def test_with_a_star_come_the_names_that_nothing_else_binds(tmp_path: Path) -> None:
    text = """
from .base import *
from .named import known
from requests import *
def own(): pass
def f(given): help_me(); Base.make(); known(); own(); given(); print(); _hidden()
"""
    found = linked(tmp_path, "pkg/mod.py", text)
    assert imported(found) == ["pkg/base.py", "pkg/named.py", "pkg/named/known.py", "python:requests"]
    assert consumed(found, "f") == [
        ("call", "pkg/base.py#help_me"),
        ("call", "pkg/base.py#Base.make"),
        ("use", "pkg/base.py#Base"),
        ("call", "pkg/named.py#known"),
        ("call", "pkg/mod.py#own"),
    ]


def test_a_method_calls_those_of_its_own_class(tmp_path: Path) -> None:
    text = "class A:\n    def run(self):\n        self.stop()\n        self.x.stop()\n    def stop(self): ...\n"
    assert consumed(linked(tmp_path, "m.py", text), "A.run") == [("call", "m.py#A.stop")]


def test_methods_are_not_called_by_their_plain_names(tmp_path: Path) -> None:
    text = "class A:\n    def run(self):\n        stop()\n    def stop(self): ...\n"
    assert consumed(linked(tmp_path, "m.py", text), "A.run") == []


def test_the_innermost_scope_with_a_name_is_meant(tmp_path: Path) -> None:
    text = "def inner(): ...\ndef outer():\n    def inner(): ...\n    inner()\ndef other():\n    inner()\n"
    found = linked(tmp_path, "m.py", text)
    assert consumed(found, "outer") == [("call", "m.py#outer.inner")]
    assert consumed(found, "other") == [("call", "m.py#inner")]


def test_what_calls_itself_does_not_refer_to_itself(tmp_path: Path) -> None:
    assert consumed(linked(tmp_path, "m.py", "def f():\n    f()\n"), "f") == []


def test_an_unknown_member_is_a_use_of_what_it_is_a_member_of(tmp_path: Path) -> None:
    text = "class Color:\n    RED = 1\ndef paint():\n    Color.mix()\n"
    assert consumed(linked(tmp_path, "m.py", text), "paint") == [("use", "m.py#Color")]


def test_of_several_kinds_for_one_target_the_strongest_counts(tmp_path: Path) -> None:
    text = "class Color: ...\ndef paint():\n    Color.mix()\n    Color()\n"
    assert consumed(linked(tmp_path, "m.py", text), "paint") == [("call", "m.py#Color")]


def test_imported_names_lead_to_the_scopes_of_the_files_they_may_be_in(tmp_path: Path) -> None:
    text = "from .base import Base as B, make\nclass A(B):\n    def run(self):\n        make()\n"
    found = linked(tmp_path, "p/m.py", text)
    assert consumed(found, "A") == [("inherit", "p/base.py#Base")]
    assert consumed(found, "A.run") == [("call", "p/base.py#make")]


def test_names_in_an_imported_module_are_found_by_its_alias(tmp_path: Path) -> None:
    found = linked(tmp_path, "p/m.py", "import p.tool\ndef f():\n    p.tool.go()\n", "p/__init__.py")
    assert consumed(found, "f") == [("call", "p/tool.py#go")]


def test_what_is_imported_from_a_package_may_be_a_module_of_it(tmp_path: Path) -> None:
    found = linked(tmp_path, "p/m.py", "from . import tool\ndef f():\n    tool.go()\n")
    assert consumed(found, "f") == [
        ("call", "p.py#tool.go"),
        ("call", "p/tool.py#go"),
        ("use", "p.py#tool"),
    ]


def test_what_is_of_a_library_or_builtin_is_not_consumed(tmp_path: Path) -> None:
    text = "import numpy as np\ndef f(x):\n    np.array(1); print(x); x.go(); super().f()\n"
    assert consumed(linked(tmp_path, "m.py", text), "f") == []


def test_no_name_has_more_than_six_candidates(tmp_path: Path) -> None:
    text = "try:\n    from a import x\nexcept ImportError:\n    from b import x\ndef f():\n    x.y()\n"
    others = ["s/a.py", "s/b.py", "a.py", "b.py", "src/a/c.py", "src/b/c.py", "pyproject.toml"]
    assert len(consumed(linked(tmp_path, "s/m.py", text, *others), "f")) == 6


def aliased(found: Linked, label: str = "Scope") -> dict[str, str]:
    return {each.key: each.of for each in found.aliases if each.label == label}


def test_a_package_is_meant_where_a_file_of_its_name_is(tmp_path: Path) -> None:
    text = "class A:\n    def run(self):\n        def inner(): ...\ndef f(): ...\ndef f(): ...\n"
    found = linked(tmp_path, "p/q/__init__.py", text)
    assert aliased(found, "File") == {"p/q.py": "p/q/__init__.py"}
    assert aliased(found) == {
        "p/q.py#A": "p/q/__init__.py#A",
        "p/q.py#A.run": "p/q/__init__.py#A.run",
        "p/q.py#f": "p/q/__init__.py#f",
    }


def test_a_name_that_a_package_takes_over_is_a_name_of_its_own(tmp_path: Path) -> None:
    found = linked(tmp_path, "p/__init__.py", "from .kinds import Format, make as create\nfrom p.deep.x import y\n")
    assert aliased(found) == {
        "p/__init__.py#Format": "p/kinds.py#Format",
        "p.py#Format": "p/__init__.py#Format",
        "p/__init__.py#create": "p/kinds.py#make",
        "p.py#create": "p/__init__.py#create",
        "p/__init__.py#y": "p/deep/x.py#y",
        "p.py#y": "p/__init__.py#y",
    }


def test_a_package_at_the_root_of_the_source_has_no_other_name(tmp_path: Path) -> None:
    found = linked(tmp_path, "__init__.py", "from .kinds import Format\ndef f(): ...\n")
    assert aliased(found, "File") == {}
    assert aliased(found) == {"__init__.py#Format": "kinds.py#Format"}


@pytest.mark.parametrize(
    "text",
    [
        "from .kinds import *\n",
        "from . import kinds\n",
        "import p.kinds\n",
        "from os import path\n",
        "from ...out import x\n",
        "def f():\n    from .kinds import Format\n",
        "try:\n    from .fast import go\nexcept ImportError:\n    from .slow import go\n",
    ],
)
def test_what_a_package_may_not_hand_on_or_means_two_things_is_not_said(tmp_path: Path, text: str) -> None:
    assert "Format" not in str(found := aliased(linked(tmp_path, "p/__init__.py", text)))
    assert set(found) <= {"p.py#f", "p.py#go"}


def test_what_a_package_defines_itself_it_does_not_take_over(tmp_path: Path) -> None:
    found = linked(tmp_path, "p/__init__.py", "from .kinds import Format\nclass Format: ...\n")
    assert aliased(found) == {"p.py#Format": "p/__init__.py#Format"}


def test_ordinary_modules_say_nothing_about_names(tmp_path: Path) -> None:
    assert linked(tmp_path, "p/m.py", "from .kinds import Format\nclass A: ...\n").aliases == ()

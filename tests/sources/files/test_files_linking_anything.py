"""Whatever a parser finds, linking gives keys that nodes can have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.documents.parsed import Import, Link, Parsed, Part, Use
from detent.sources.files.folder import Folder
from detent.sources.files.linking import Roots, links
from detent.sources.files.settings import FolderSettings

PATHS = {
    "python": ["m.py", "a/b/m.py", "a/__init__.py", "__init__.py"],
    "javascript": ["m.js", "a/m.jsx", "a/index.js"],
    "typescript": ["m.ts", "a/m.tsx", "index.ts"],
    "go": ["m.go", "a/m.go"],
    "rust": ["src/lib.rs", "src/a/m.rs", "build.rs", "src/bin/x.rs", "tests/a/b.rs", "m.rs"],
    "java": ["M.java", "src/main/java/a/b/M.java"],
    "c": ["m.c", "src/m.h"],
    "cpp": ["m.cpp", "a/m.h"],
    "ruby": ["m.rb", "lib/a/m.rb"],
    "markdown": ["m.md", "a/m.md"],
    "html": ["a/m.html"],
}
ODD = [
    "",
    ".",
    "..",
    "../..",
    "../../../x",
    "/",
    "//",
    "/abs/x",
    "%",
    "%2e%2e%2fx",
    "\\",
    "a\\b",
    "\0",
    "\ud800",
    "é/ü",
]
ODD += [
    "x" * 3000,
    "a/" * 2000,
    "é" * 1500,
    "self",
    "super",
    "crate",
    "Self",
    "a",
    "b.c",
    "a::b",
    "a..b",
    "::",
    "#",
    "#a",
]
ODD += [
    "http://",
    "http://[",
    "https://ex.org/../x",
    "mailto:",
    "mailto:a@b",
    "?",
    "a?b",
    "@",
    "@/x",
    "@a/b",
    "...",
    "*",
]

words = st.sampled_from(ODD) | st.text(max_size=8)
names = st.builds(lambda found, by: by.join(found), st.lists(words, min_size=1, max_size=4), st.sampled_from("./:"))
parts = st.sampled_from(["", "a", "a.b", "A"])
scopes = [
    Part("Scope", "a", "a", "", 1, 9, properties={"kind": "module"}),
    Part("Scope", "a.b", "a.b", "", 2, 3, "a", {"kind": "method"}),
    Part("Scope", "A", "A", "", 10, 12, properties={"kind": "class"}),
]


@st.composite
def files(draw: st.DrawFn) -> tuple[str, Parsed]:
    kind = draw(st.sampled_from(sorted(PATHS)))
    imports = st.builds(Import, names, words | names, words | names, st.integers(1, 20), st.booleans(), st.booleans())
    uses = st.builds(Use, st.sampled_from(["call", "inherit", "use"]), names, parts, st.just(1))
    targets = st.builds(Link, st.sampled_from(["link", "image", "code"]), names, parts, st.just(1))
    text = draw(st.sampled_from(["", "package a.b;", "package a..;", "package a", "package main"]))
    parsed = Parsed(
        kind,
        text=text,
        parts=draw(st.sampled_from([[], scopes])),
        imports=draw(st.lists(imports, max_size=6)),
        uses=draw(st.lists(uses, max_size=6)),
        links=draw(st.lists(targets, max_size=6)),
    )
    return draw(st.sampled_from(PATHS[kind])), parsed


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Roots:
    root = tmp_path_factory.mktemp("folder")
    made = {
        "go.mod": "module a/b\n",
        "Cargo.toml": '[package]\nname = "b"\n',
        "a/x.py": "",
        "src/a/x.ts": "",
        "lib/a.rb": "",
    }
    for path, text in made.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Roots(Folder(FolderSettings(root)))


@given(file=files())
def test_every_key_is_one_that_a_node_can_have(roots: Roots, file: tuple[str, Parsed]) -> None:
    path, parsed = file
    found = links(path, parsed, roots)
    references = [each for several in found.references.values() for each in several]
    for each in references:
        assert each.key
        assert not each.key.startswith("/")
        assert len(each.key.encode()) <= 2000
        assert "\0" not in each.key
        if each.label != "Address":
            assert ".." not in each.key.partition("#")[0].split("/")
    for alias in found.aliases:
        assert alias.key != alias.of
        for key in (alias.key, alias.of):
            assert 0 < len(key.encode()) <= 2000
            assert not key.startswith("/")
            assert ".." not in key.partition("#")[0].split("/")
    assert len({(each.label, each.key) for each in found.aliases}) == len(found.aliases)
    mentioned = {(each.label, each.key) for each in found.mentions}
    assert mentioned == {(each.label, each.key) for each in references if each.label in {"Library", "Address"}}
    assert len(mentioned) == len(found.mentions)


@given(file=files())
def test_no_part_refers_twice_to_the_same_target_or_to_itself(roots: Roots, file: tuple[str, Parsed]) -> None:
    path, parsed = file
    for part, references in links(path, parsed, roots).references.items():
        targets = [(each.type, each.label, each.key) for each in references]
        assert len(set(targets)) == len(targets)
        assert (f"{path}#{part}" if part else path) not in {each.key for each in references}


@given(file=files())
def test_the_order_of_uses_changes_nothing(roots: Roots, file: tuple[str, Parsed]) -> None:
    path, parsed = file
    again = replace(parsed, uses=[*reversed(parsed.uses)])
    first, second = (links(path, each, roots).references for each in (parsed, again))
    assert {part: set(map(repr, found)) for part, found in first.items()} == {
        part: set(map(repr, found)) for part, found in second.items()
    }

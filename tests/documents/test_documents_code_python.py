"""The parser for code, with Python."""

from __future__ import annotations

from tests.documents.test_documents_code_samples import imports, kinds, part, read, uses

from detent.documents.code.parsing import parse
from detent.documents.parsed import Import


def test_classes_functions_and_methods_are_scopes() -> None:
    assert kinds(read("sample.py")) == {
        "Shape": "class",
        "Shape.area": "method",
        "Shape.area.rounded": "function",
        "Shape.helper": "method",
        "free": "function",
    }


def test_a_scope_tells_its_name_its_signature_and_its_docstring() -> None:
    found = part(read("sample.py"), "Shape.area")
    assert (found.title, found.parent) == ("Shape.area", "Shape")
    assert found.properties == {
        "kind": "method",
        "name": "area",
        "signature": 'def area(self, scale: np.float64 = LIMIT, *, json=None) -> "int"',
        "docstring": "Its area.",
    }
    assert part(read("sample.py"), "Shape").properties["docstring"] == "A shape.\n\nIt has sides."


def test_a_signature_of_several_lines_is_one_line_without_comments() -> None:
    assert part(read("sample.py"), "Shape.helper").properties["signature"] == "async def helper( self, amount, )"


def test_signs_of_comments_in_a_signatures_strings_are_kept() -> None:
    found = part(parse(b'def f(a="# x", b=1 // 2, c="http://x"):\n    pass\n', "a.py"), "f")
    assert found.properties["signature"] == 'def f(a="# x", b=1 // 2, c="http://x")'


def test_the_text_of_a_scope_is_without_the_scopes_in_it() -> None:
    parsed = read("sample.py")
    assert "rounded(3)" in part(parsed, "Shape.area").text
    assert "def rounded" not in part(parsed, "Shape.area").text
    assert part(parsed, "Shape").text.endswith("sides: int = LIMIT")
    assert part(parsed, "Shape").text.startswith("# Kept in a set.\n@dataclass(order=True)\nclass Shape(")


def test_the_file_keeps_what_is_in_no_scope() -> None:
    parsed = read("sample.py")
    assert parsed.properties == {"docstring": "Shapes and their areas.\n\nThey have sides."}
    assert "import numpy as np" in parsed.text
    assert "free().show()" in parsed.text
    assert "def " not in parsed.text


def test_every_import_is_told_with_what_it_binds() -> None:
    parsed = read("sample.py")
    assert imports(parsed) == [
        ("os.path", "", "os.path"),
        ("numpy", "", "np"),
        ("..models", "Base", "Base"),
        ("..models", "measure", "measured"),
        ("shapes.more", "*", ""),
        ("json", "", "json"),
        ("fast", "", "fast"),
        ("csv", "", "csv"),
    ]
    assert parsed.imports[0] == Import("os.path", "", "os.path", 7)


def test_relative_and_future_imports_are_told_as_they_are_written() -> None:
    parsed = parse(b"from . import a, b as c\nfrom ... d import e\nfrom __future__ import annotations\n", "a.py")
    assert imports(parsed) == [
        (".", "a", "a"),
        (".", "b", "c"),
        ("...d", "e", "e"),
        ("__future__", "annotations", "annotations"),
    ]


def test_base_classes_are_inherited_from() -> None:
    assert uses(read("sample.py"), "inherit") == {("Base", "Shape"), ("Generic", "Shape")}


def test_calls_are_told_but_not_those_on_local_variables() -> None:
    assert uses(read("sample.py"), "call") == {
        ("dataclass", "Shape"),
        ("os.path.join", "Shape.area"),
        ("measured", "Shape.area.rounded"),
        ("rounded", "Shape.area"),
        ("super.area", "Shape.area"),
        ("self.other.run", "Shape.area"),
        ("self.helper", "Shape.area"),
        ("csv.reader", "Shape.helper"),
        ("fast.go", "Shape.helper"),
        ("range", "Shape.helper"),
        ("Shape", "free"),
        ("free", ""),
        ("open", ""),
    }


def test_uses_are_of_imported_names_and_of_those_at_the_top() -> None:
    assert uses(read("sample.py"), "use") == {
        ("np.Meta", "Shape"),
        ("LIMIT", "Shape"),
        ("np.float64", "Shape.area"),
        ("LIMIT", "Shape.area"),
        ("fast", "Shape.helper"),
        ("Shape.area", "free"),
        ("LIMIT", "free"),
        ("json", "free"),
    }


def test_a_name_that_a_nested_function_has_is_not_the_imported_one() -> None:
    parsed = parse(b"import run\ndef f():\n    def run(): pass\n    start(run)\n", "a.py")
    assert uses(parsed, "use") == set()


def test_what_is_called_on_a_call_is_told_only_as_far_as_it_has_a_name() -> None:
    parsed = parse(b"a.b().c(1)\n'x'.join(y)\nd[0].e()\n(f or g)()\n", "a.py")
    assert uses(parsed, "call") == {("a.b", "")}


def test_a_keyword_and_a_member_are_not_the_names_at_the_top() -> None:
    parsed = parse(b"import size\ndef f(o):\n    return o.size + o(size=1) + o . size\n", "a.py")
    assert uses(parsed, "use") == set()


def test_a_second_definition_of_a_name_has_a_key_of_its_own() -> None:
    parsed = parse(b"if x:\n    def f(): return 1\nelse:\n    def f(): return 2\n", "a.py")
    assert [(found.key, found.title) for found in parsed.parts] == [("f", "f"), ("f~2", "f")]


def test_a_comment_belongs_to_the_function_that_it_touches() -> None:
    parsed = parse(b"def a():\n    pass\n    # the end of a\n# about b\ndef b():\n    pass\n\n# about no one\n", "a.py")
    assert part(parsed, "b").text == "# about b\ndef b():\n    pass"
    assert (part(parsed, "b").first, part(parsed, "b").last) == (4, 6)
    assert "# about no one" in parsed.text


def test_a_type_that_is_returned_is_used() -> None:
    parsed = parse(b"import np\ndef f() -> np.array:\n    return None\n", "a.py")
    assert uses(parsed, "use") == {("np.array", "f")}

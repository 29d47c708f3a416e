"""The parser for code, with C and C++."""

from __future__ import annotations

from tests.documents.test_documents_code_samples import kinds, part, read, uses

from detent.documents.code.parsing import parse
from detent.documents.parsed import Import


def test_structs_enums_and_functions_of_c() -> None:
    assert kinds(read("sample.c")) == {
        "Point": "struct",
        "line": "struct",
        "color": "enum",
        "distance": "function",
        "names": "function",
        "declared_only": "function",
    }


def test_a_prototype_is_a_scope_only_where_the_function_is_not_defined() -> None:
    parsed = read("sample.c")
    assert part(parsed, "distance").text.startswith("/**\n * How far two points are apart.\n */\ndouble distance(")
    assert "double distance(const Point *a, const Point *b);" in parsed.text
    assert part(parsed, "declared_only").text == "void declared_only(int n);"


def test_signatures_of_c() -> None:
    parsed = read("sample.c")
    assert part(parsed, "Point").properties["signature"] == "typedef struct Point"
    expected = "static char **names(struct line *line, int (*visit)(Point))"
    assert part(parsed, "names").properties["signature"] == expected
    assert parsed.properties == {"docstring": "Points and how far they are from each other."}


def test_includes_are_imports_of_everything() -> None:
    assert read("sample.c").imports == [
        Import("math.h", "*", "", 3, system=True),
        Import("geometry/point.h", "*", "", 4),
    ]


def test_c_calls_and_uses() -> None:
    parsed = read("sample.c")
    assert uses(parsed, "call") == {
        ("sqrt", "distance"),
        ("SQUARE", "distance"),
        ("print_color", "names"),
        ("collect", "names"),
    }
    assert uses(parsed, "use") == {
        ("Point", ""),
        ("Point", "line"),
        ("Point", "distance"),
        ("counter", "distance"),
        ("LIMIT", "distance"),
        ("Point", "names"),
        ("RED", "names"),
    }


def test_scopes_of_cpp_are_called_after_their_namespaces() -> None:
    assert kinds(read("sample.cpp")) == {
        "geo.flat": "namespace",
        "geo.flat.Square": "class",
        "geo.flat.Square.Square": "method",
        "geo.flat.Square.area": "method",
        "geo.flat.Square.Inner": "class",
        "geo.flat.Square.Inner.go": "method",
        "geo.flat.Color": "enum",
        "geo.flat.hidden": "function",
        "geo.flat.Square.~Square": "method",
        "operator==": "function",
        "make": "function",
    }


def test_a_template_belongs_to_its_class() -> None:
    found = part(read("sample.cpp"), "geo.flat.Square")
    assert found.text.startswith("/// A shape.\ntemplate <typename T>\nclass Square")
    assert found.text.endswith("};")
    expected = "template <typename T> class Square : public Shape<T>, private detail::Counted"
    assert found.properties["signature"] == expected


def test_cpp_calls_bases_and_uses() -> None:
    parsed = read("sample.cpp")
    assert uses(parsed, "inherit") == {("Shape", "geo.flat.Square"), ("detail.Counted", "geo.flat.Square")}
    assert uses(parsed, "call") == {
        ("this.check", "geo.flat.Square.area"),
        ("base.multiply", "geo.flat.Square.area"),
        ("release", "geo.flat.Square.~Square"),
        ("hidden", "operator=="),
        ("std.make_unique", "make"),
        ("geo.Circle", "make"),
    }
    assert uses(parsed, "use") == {("kSides", "geo.flat.Square.area"), ("Square", "make"), ("kSides", "make")}


def test_a_variable_that_looks_like_a_prototype_is_no_scope() -> None:
    parsed = parse(b"void f() {\n  Guard guard(mutex);\n  Thing thing();\n}\n", "a.cpp")
    assert kinds(parsed) == {"f": "function"}


def test_a_header_that_is_cpp_is_read_as_cpp() -> None:
    parsed = parse(b"namespace a {\nclass B {\n public:\n  void c() {}\n};\n}\n", "b.h")
    assert parsed.kind == "cpp"
    assert [found.key for found in parsed.parts] == ["a", "a.B", "a.B.c"]
    assert parse(b"int f(void);\n", "c.h").kind == "c"

"""The parser for code, with Rust."""

from __future__ import annotations

import pytest
from tests.documents.test_documents_code_samples import imports, kinds, part, read, uses

from detent.documents.code.parsing import parse


def test_methods_are_called_after_the_type_that_they_are_implemented_for() -> None:
    parsed = read("sample.rs")
    assert kinds(parsed) == {
        "Shape": "struct",
        "Kind": "enum",
        "Measured": "trait",
        "Measured.area": "method",
        "Measured.twice": "method",
        "impl Shape": "impl",
        "Shape.new": "method",
        "impl Measured for Shape": "impl",
        "Shape.area": "method",
        "impl fmt.Display for Shape": "impl",
        "Shape.fmt": "method",
        "helper": "function",
        "square": "macro",
        "inner": "module",
        "inner.deep": "function",
    }
    assert part(parsed, "Shape.area").parent == "impl Measured for Shape"


def test_attributes_and_comments_belong_to_what_they_are_above() -> None:
    found = part(read("sample.rs"), "Shape")
    assert found.text.startswith("/// A shape.\n#[derive(Debug, Clone)]\npub struct Shape<T> {")
    assert found.properties["docstring"] == "A shape."
    assert found.properties["signature"] == "pub struct Shape<T>"
    assert read("sample.rs").properties == {"docstring": "Shapes and their areas."}


def test_trees_of_use_are_told_leaf_by_leaf() -> None:
    assert imports(read("sample.rs")) == [
        ("std::fmt", "", "fmt"),
        ("std::fmt", "Display", "Show"),
        ("std::fmt", "Write", "Write"),
        ("crate::math::round", "*", ""),
        ("crate::math", "sqrt", "sqrt"),
        ("super", "units", "units"),
        ("serde", "", ""),
        ("rand", "", "random"),
        ("self::colors", "", "colors"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use a;", [("a", "", "a")]),
        ("use a::{b::{c, d as e}, self as f};", [("a::b", "c", "c"), ("a::b", "d", "e"), ("a", "", "f")]),
        ("use {a::b, c};", [("a", "b", "b"), ("c", "", "c")]),
        ("use a::*;", [("a", "*", "")]),
    ],
)
def test_a_use_binds_what_it_says(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert imports(parse(text.encode(), "a.rs")) == expected


def test_a_type_inherits_the_traits_that_are_implemented_for_it() -> None:
    assert uses(read("sample.rs"), "inherit") == {
        ("Show", "Measured"),
        ("fmt.Debug", "Measured"),
        ("Measured", "Shape"),
        ("fmt.Display", "Shape"),
    }


def test_a_trait_for_a_type_of_another_file_is_inherited_by_the_implementation() -> None:
    parsed = parse(b"impl Clone for other::Thing {}\n", "a.rs")
    assert uses(parsed, "inherit") == {("Clone", "impl Clone for other.Thing")}


def test_rust_calls_are_told_also_those_in_macros() -> None:
    assert uses(read("sample.rs"), "call") == {
        ("self.area", "Measured.twice"),
        ("helper", "Shape.new"),
        ("Self.check", "Shape.new"),
        ("describe", "Shape.new"),
        ("self.kind", "Shape.area"),
        ("Vec.new", "Shape.fmt"),
        ("random.thread_rng", "Shape.fmt"),
        ("units.of", "helper"),
        ("super.helper", "inner.deep"),
    }


def test_rust_uses_are_of_names_of_the_file() -> None:
    assert uses(read("sample.rs"), "use") == {
        ("SIDES", "Shape.new"),
        ("Shape", "Shape.new"),
        ("Kind.Square", "Shape.area"),
        ("fmt.Formatter", "Shape.fmt"),
        ("fmt.Result", "Shape.fmt"),
    }

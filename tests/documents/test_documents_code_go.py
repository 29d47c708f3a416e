"""The parser for code, with Go."""

from __future__ import annotations

from tests.documents.test_documents_code_samples import imports, kinds, part, read, uses

from detent.documents.code.parsing import parse


def test_methods_are_called_after_their_receivers() -> None:
    parsed = read("sample.go")
    assert kinds(parsed) == {
        "Item": "struct",
        "Seller": "interface",
        "Names": "type",
        "Item.Total": "method",
        "Item.price": "method",
        "New": "function",
    }
    assert part(parsed, "Item.Total").parent == ""
    assert part(parsed, "Item.Total").properties["name"] == "Total"


def test_signatures_and_comments_of_go() -> None:
    parsed = read("sample.go")
    assert parsed.properties == {"docstring": "Package shop sells things."}
    assert part(parsed, "Item").properties["signature"] == "type Item struct"
    assert part(parsed, "Seller").properties["docstring"] == "Seller sells."
    assert part(parsed, "New").properties["signature"] == "func New[T any](name T) *Item"


def test_a_package_is_called_by_its_alias_or_as_its_path_ends() -> None:
    assert imports(read("sample.go")) == [
        ("fmt", "", "fmt"),
        ("strings", "", "str"),
        ("embed", "", ""),
        ("math", "*", ""),
        ("example.org/money/v2", "", "money"),
    ]


def test_what_is_embedded_is_inherited_from() -> None:
    assert uses(read("sample.go"), "inherit") == {
        ("money.Priced", "Item"),
        ("Base", "Item"),
        ("fmt.Stringer", "Seller"),
    }


def test_a_call_on_the_receiver_is_one_on_its_type() -> None:
    assert uses(read("sample.go"), "call") == {
        ("Item.price", "Item.Total"),
        ("fmt.Println", "Item.Total"),
        ("str.ToUpper", "Item.Total"),
        ("money.Add", "Item.Total"),
        ("Sqrt", "Item.Total"),
    }


def test_go_uses_are_of_names_of_the_file() -> None:
    assert uses(read("sample.go"), "use") == {
        ("Rate", ""),
        ("Item", "Seller"),
        ("Item", "Item.Total"),
        ("Rate", "Item.Total"),
        ("Item", "Item.price"),
        ("defaults", "Item.price"),
        ("Item", "New"),
    }


def test_the_key_in_a_literal_is_no_use() -> None:
    parsed = parse(b"package a\nconst Name = 1\nfunc f() T { return T{Name: 2} }\n", "a.go")
    assert uses(parsed, "use") == {("T", "f")}

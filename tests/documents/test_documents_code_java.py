"""The parser for code, with Java."""

from __future__ import annotations

from tests.documents.test_documents_code_samples import imports, kinds, part, read, uses


def test_classes_records_and_overloads_of_java() -> None:
    assert kinds(read("sample.java")) == {
        "Item": "class",
        "Item.Item": "method",
        "Item.total": "method",
        "Item.total~2": "method",
        "Item.State": "enum",
        "Item.State.open": "method",
        "Sellable": "interface",
        "Sellable.sell": "method",
        "Pair": "record",
        "Pair.Pair": "method",
    }


def test_annotations_are_in_the_text_and_not_in_the_signature() -> None:
    found = part(read("sample.java"), "Item.total")
    assert found.text.startswith("@Override\n    public int total(")
    assert found.properties["signature"] == "public int total(int amount, T... others) throws NoPrice"
    assert part(read("sample.java"), "Item").properties["docstring"] == "Something with a price."


def test_java_imports_classes_members_and_everything() -> None:
    assert imports(read("sample.java")) == [
        ("java.util", "List", "List"),
        ("org.example.money", "*", ""),
        ("org.example.Checks", "notNull", "notNull"),
        ("org.example.Rates", "*", ""),
    ]


def test_superclasses_and_interfaces_are_inherited_from() -> None:
    assert uses(read("sample.java"), "inherit") == {
        ("Priced", "Item"),
        ("Sellable", "Item"),
        ("money.Taxed", "Item"),
        ("Thing", "Sellable"),
        ("Owned", "Sellable"),
        ("Sellable", "Pair"),
    }


def test_java_calls_are_told_but_not_those_on_variables_and_fields() -> None:
    assert uses(read("sample.java"), "call") == {
        ("List.of", "Item"),
        ("Logger.of", "Item"),
        ("notNull", "Item.Item"),
        ("Amount", "Item.total"),
        ("this.check", "Item.total"),
        ("super.total", "Item.total"),
        ("round", "Item.total"),
        ("Amounts.of", "Item.total"),
        ("total", "Item.total~2"),
        ("notNull", "Pair.Pair"),
    }


def test_java_uses_are_of_names_of_the_file() -> None:
    assert uses(read("sample.java"), "use") == {
        ("List", "Item"),
        ("List.of", "Item.total"),
        ("Item", "Sellable.sell"),
        ("Item", "Pair"),
    }

"""The parser for code, with Ruby."""

from __future__ import annotations

from tests.documents.test_documents_code_samples import imports, kinds, part, read, uses

from detent.documents.code.parsing import parse


def test_modules_classes_and_methods_of_ruby() -> None:
    assert kinds(read("sample.rb")) == {
        "Shop": "module",
        "Shop.Item": "class",
        "Shop.Item.initialize": "method",
        "Shop.Item.build": "method",
        "Shop.Item.all": "method",
        "Shop.Item.check!": "method",
        "Shop.Item.<=>": "method",
        "helper": "function",
    }


def test_signatures_and_comments_of_ruby() -> None:
    parsed = read("sample.rb")
    assert part(parsed, "Shop.Item").properties["docstring"] == "Something with a price."
    assert part(parsed, "Shop.Item").properties["signature"] == "class Item < Money::Priced"
    assert part(parsed, "Shop.Item.build").properties["signature"] == "def self.build(name)"
    assert part(parsed, "Shop.Item.all").properties["signature"] == "def all"
    assert parsed.properties == {"docstring": "Things that are sold."}


def test_what_is_required_relatively_is_a_path() -> None:
    assert imports(read("sample.rb")) == [("json", "*", ""), ("./money", "*", ""), ("../base", "*", "")]


def test_a_path_that_is_put_together_is_not_known() -> None:
    assert imports(parse(b'require "a/#{name}"\nrequire name\nputs "x"\n', "a.rb")) == []


def test_superclasses_and_included_modules_are_inherited_from() -> None:
    assert uses(read("sample.rb"), "inherit") == {
        ("Money.Priced", "Shop.Item"),
        ("Comparable", "Shop.Item"),
        ("Shop.Finders", "Shop.Item"),
    }


def test_ruby_calls_are_told_also_by_their_mere_names() -> None:
    assert uses(read("sample.rb"), "call") == {
        ("check!", "Shop.Item.initialize"),
        ("self.register", "Shop.Item.initialize"),
        ("Item.new", "Shop.Item.build"),
        ("JSON.parse", "Shop.Item.build"),
        ("helper", "Shop.Item.check!"),
        ("Shop.Item.build", "helper"),
        ("helper", ""),
    }


def test_ruby_uses_are_of_constants_of_the_file() -> None:
    assert uses(read("sample.rb"), "use") == {("LIMIT", "Shop.Item.initialize")}

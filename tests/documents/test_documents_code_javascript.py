"""The parser for code, with JavaScript and TypeScript."""

from __future__ import annotations

import pytest
from tests.documents.test_documents_code_samples import imports, kinds, part, read, uses

from detent.documents.code.parsing import parse


def test_functions_are_scopes_however_they_get_their_names() -> None:
    assert kinds(read("sample.js")) == {
        "Item": "class",
        "Item.constructor": "method",
        "Item.constructor.onChange": "function",
        "Item.total": "method",
        "Item.handle": "method",
        "make": "function",
        "all": "function",
        "all.first": "function",
        "Item.sell": "method",
        "start": "function",
        "default": "function",
    }


def test_a_function_that_is_assigned_has_its_declaration_for_a_signature() -> None:
    found = part(read("sample.js"), "make")
    assert found.properties["signature"] == "const make = async (name, { price, unit: size })"
    assert found.properties["docstring"] == "Makes an item."
    assert found.text.startswith("/** Makes an item. */\nexport const make = ")


def test_of_several_functions_in_one_declaration_each_is_a_scope_of_its_own() -> None:
    parsed = parse(b"const a = () => 1, b = function () { return a(); };\n", "a.js")
    assert {found.key: found.text for found in parsed.parts} == {
        "a": "a = () => 1",
        "b": "b = function () { return a(); };",
    }


def test_the_comment_at_the_top_is_about_the_file() -> None:
    assert read("sample.js").properties == {"docstring": "The shop: what is sold, and to whom."}


def test_imports_exports_and_requires_are_told() -> None:
    assert imports(read("sample.js")) == [
        ("node:fs", "default", "fs"),
        ("node:fs", "readFile", "read"),
        ("node:fs", "join", "join"),
        ("./money.js", "", "money"),
        ("./polyfill.js", "", ""),
        ("./round.js", "round", "rounded"),
        ("./taxes.js", "*", ""),
        ("./dates", "parse", "parse"),
        ("./dates", "format", "show"),
        ("./log", "create", "log"),
        ("./lazy.js", "", "lazy"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export * as all from './a';", [("./a", "", "all")]),
        ("require('./a');", [("./a", "", "")]),
        ("import('./a').then(x => x);", [("./a", "", "")]),
        ("const a = require(name), b = other('./a');", []),
        ("const a = require('./a');", [("./a", "", "a")]),
        ("export { default } from './a';", [("./a", "default", "default")]),
    ],
)
def test_an_import_binds_what_it_says(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert imports(parse(text.encode(), "a.js")) == expected


def test_javascript_calls_are_told_but_not_those_on_local_variables() -> None:
    parsed = read("sample.js")
    assert uses(parsed, "inherit") == {("money.Priced", "Item")}
    assert uses(parsed, "call") == {
        ("this.scaled", "Item.total"),
        ("money.add", "Item.total"),
        ("log", "Item.handle"),
        ("lazy.load", "make"),
        ("Item", "make"),
        ("first", "all"),
        ("read", "Item.sell"),
        ("make", "start"),
        ("all", "default"),
    }


def test_javascript_uses_are_of_names_of_the_file() -> None:
    assert uses(read("sample.js"), "use") == {
        ("counter", "Item.constructor.onChange"),
        ("RATE", "Item.total"),
        ("counter", "Item.total"),
        ("Item.count", "Item.handle"),
        ("show", "Item.sell"),
        ("RATE", "start"),
    }


def test_typescript_has_interfaces_enums_types_and_namespaces() -> None:
    assert kinds(read("sample.ts")) == {
        "Level": "enum",
        "Store": "interface",
        "Entry": "type",
        "open": "function",
        "legacy": "function",
        "MemoryStore": "class",
        "MemoryStore.constructor": "method",
        "MemoryStore.get": "method",
        "MemoryStore.unwrap": "method",
        "Names.Of": "namespace",
        "Names.Of.valid": "function",
    }


def test_decorators_belong_to_what_they_decorate() -> None:
    parsed = read("sample.ts")
    assert part(parsed, "MemoryStore").text.startswith(
        "/** Keeps all in memory. */\n@Injectable({ scope: Level.High })"
    )
    assert part(parsed, "MemoryStore.get").text.startswith("/** Finds one. */\n  @inject()\n  get(key: string): T {")
    assert part(parsed, "MemoryStore.get").properties["signature"] == "get(key: string): T"
    assert ("inject", "MemoryStore.get") in uses(parsed, "call")


def test_what_is_extended_and_implemented_is_inherited_from() -> None:
    assert uses(read("sample.ts"), "inherit") == {
        ("Reader", "Store"),
        ("Base.Closable", "Store"),
        ("Cache.Base", "MemoryStore"),
        ("Store", "MemoryStore"),
        ("Disposable", "MemoryStore"),
    }


def test_typescript_imports_types_and_by_assignment() -> None:
    assert imports(read("sample.ts")) == [
        ("./reader", "Reader", "Reader"),
        ("node:path", "", "path"),
        ("./inject", "Injectable", "Injectable"),
        ("./inject", "inject", "inject"),
    ]


def test_types_are_used_where_they_are_written() -> None:
    assert uses(read("sample.ts"), "use") == {
        ("Level", "Entry"),
        ("Store", ""),
        ("Level", "open"),
        ("Store", "open"),
        ("Level.Low", "open"),
        ("Level.High", "MemoryStore"),
        ("Entry", "MemoryStore"),
        ("Level", "MemoryStore.constructor"),
        ("Entry", "MemoryStore.get"),
        ("Entry", "MemoryStore.unwrap"),
    }


def test_a_component_is_used_where_it_is_rendered() -> None:
    parsed = read("sample.tsx")
    assert uses(parsed, "use") == {("Card", "Panel")}
    assert uses(parsed, "call") == {("render", "Panel")}


def test_a_class_without_a_name_inherits_for_no_one() -> None:
    parsed = parse(b"function mix(Base) { return class extends Other {}; }\n", "a.js")
    assert uses(parsed, "inherit") == set()

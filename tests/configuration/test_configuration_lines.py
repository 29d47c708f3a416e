"""The lines on which keys stand."""

import json
import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from detent.configuration.lines import KeyPath, key_lines


def test_lines_are_found_through_tables_dots_quotes_and_long_values() -> None:
    text = "\n".join(
        [
            "# key = 1",  # 1
            "plain = 1",
            'a.b . "c.d" = 2 # x = 3',
            "text = '''",
            "inner = 5",  # 5
            "[inner]",
            "''''",
            'other = """',
            '\\""" still = 1',
            'end"""""',  # 10
            "list = [ # [no]",
            '  \'a]\', "b\\"]", [1,',
            "  2], { deep = 1, x.y = [{ z = 1 }] },",
            "]",
            "after = 1979-05-27 07:32:00",  # 15
            " [ table . 'qu\"oted' ] ",
            "inline = { one = 1, two = { three = '}' } }",
            "[[many]]",
            '"esc\\u0061ped\\"" = 1.5',
            "[[many]]",  # 20
            "later = -inf",
            "[table]",
            "last = 0x1F",
        ]
    )
    tomllib.loads(text)
    assert key_lines(text) == {
        ("plain",): 2,
        ("a",): 3,
        ("a", "b"): 3,
        ("a", "b", "c.d"): 3,
        ("text",): 4,
        ("other",): 8,
        ("list",): 11,
        ("list", "deep"): 13,
        ("list", "x"): 13,
        ("list", "x", "y"): 13,
        ("list", "x", "y", "z"): 13,
        ("after",): 15,
        ("table",): 16,
        ("table", 'qu"oted'): 16,
        ("table", 'qu"oted', "inline"): 17,
        ("table", 'qu"oted', "inline", "one"): 17,
        ("table", 'qu"oted', "inline", "two"): 17,
        ("table", 'qu"oted', "inline", "two", "three"): 17,
        ("many",): 18,
        ("many", 'escaped"'): 19,
        ("many", "later"): 21,
        ("table", "last"): 23,
    }


TRICKY = st.text(alphabet="ab.=[]{}#,\"'\\\n é1", max_size=8)
SCALARS = st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), TRICKY)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TRICKY, inner, max_size=3)),
    max_leaves=8,
)


def written(value: object) -> str:
    """The value in TOML, with arrays spread over lines and texts in whatever quotes may hold them."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quoted(key)} = {written(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[ # [ = {\n" + "".join(f"  {written(each)}, # ' ]\n" for each in value) + "]"
    if isinstance(value, str):
        return quoted(value) if "'''" in value or value[-1:] == "'" else f"'''\n{value}'''"
    return json.dumps(value).replace("Infinity", "inf")


def quoted(text: str) -> str:
    return f"'{text}'" if not set("'\n") & set(text) else json.dumps(text)


def paths(value: object, above: KeyPath = ()) -> set[KeyPath]:
    """Every key in the document, whichever way it was written."""
    if isinstance(value, list):
        return {path for each in value for path in paths(each, above)}
    if isinstance(value, dict):
        here = {(*above, key) for key in value}
        return here.union(*(paths(each, (*above, key)) for key, each in value.items()))
    return set()


@given(st.dictionaries(TRICKY, st.dictionaries(TRICKY, VALUES, max_size=3), max_size=3))
def test_every_key_that_tomllib_reads_has_the_line_that_it_stands_on(document: dict[str, Any]) -> None:
    lines: list[str] = []
    expected: dict[KeyPath, int] = {}
    for table, pairs in document.items():
        lines.append(f"[{quoted(table)}]")
        expected[(table,)] = len(lines)
        for key, value in pairs.items():
            expected[(table, key)] = len(lines) + 1
            lines += f"{quoted(key)} = {written(value)}".split("\n")
    text = "\n".join(lines)
    found = key_lines(text)
    assert set(found) == paths(tomllib.loads(text))
    assert {path: found[path] for path in expected} == expected

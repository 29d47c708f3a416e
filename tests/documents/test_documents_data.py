"""Data files: the entries of their top level, as they are written, and files that are malformed or mean harm."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from detent.documents.data.entries import LONGEST_TEXT, MOST_PARTS
from detent.documents.data.json_file import parse as parse_json
from detent.documents.data.json_file import parse_lines as parse_json_lines
from detent.documents.data.toml_file import parse as parse_toml
from detent.documents.data.yaml_file import parse as parse_yaml
from detent.documents.parsed import Parsed, Unparsable

Parser = Callable[[bytes, str], Parsed]
PARSERS: tuple[Parser, ...] = (parse_json, parse_json_lines, parse_yaml, parse_toml)

JSON = """{
  "name": "detent",
  "name": null,
  "scripts": {
    "build": ["a", {"}": 1}],
    "text": "a \\" } ]"
  }, "on": true, "size": -1.5e3, "none": []
}
"""
YAML = """# The settings of a house.

# who lives there
people: [Ann, "Bo"]  # two
rooms:
  - kitchen
  - hall: {doors: 2}

note: |
  # no comment
  text

"a key": &x 12
again: *x
? [1, 2]
: 1.5
empty:
"""
TOML = '''# The settings of a tool.

# its name
name = "tool" # short
sizes = [
  1, # ]
  2,
]
text = """
[no.table]
"""
made = 2024-01-02

# how it looks
[look.colours]
red = { depth = "]" }

[[person]]
name = 'Ann'
[[person]]
name = 'Bo'
'''


def told(found: Parsed) -> list[tuple[str, str, str, int, int]]:
    return [(part.key, part.title, part.properties["type"], part.first, part.last) for part in found.parts]


def test_the_entries_of_a_json_object_are_parts() -> None:
    found = parse_json(JSON.encode(), "a.json")
    assert (found.kind, found.text, found.problems) == ("json", "", [])
    assert told(found) == [
        ("name", "name", "string", 2, 2),
        ("name~2", "name", "null", 3, 3),
        ("scripts", "scripts", "object", 4, 7),
        ("on", "on", "boolean", 7, 7),
        ("size", "size", "number", 7, 7),
        ("none", "none", "array", 7, 7),
    ]
    assert found.parts[2].text.startswith('"scripts": {\n    "build"')
    assert found.parts[2].text.endswith('"a \\" } ]"\n  }')


def test_the_names_of_json_keys_are_read_without_their_escapes() -> None:
    found = parse_json(b'{"a\\u00e9 b": 1, "\\u0000\\ud800": 2, "\\uZ": 3}', "a.json")
    assert [(part.key, part.title) for part in found.parts] == [
        ("aé-b", "aé b"),
        ("section", "\ufffd\ufffd"),
        ("uz", "\\uZ"),
    ]


def test_json_with_comments_and_trailing_commas_is_let_pass() -> None:
    found = parse_json(b'// settings\n{"a": [1, 2,], /* "x": */ "b": {"c": 1,},}\n// end', "a.json")
    assert [part.key for part in found.parts] == ["a", "b"]
    assert not found.problems


def test_numbers_are_read_that_only_some_programs_write() -> None:
    found = parse_json(b'{"a1e+9": 1e+9, "b": NaN, "c": [-Infinity, 2E+10]}', "a.json")
    assert [(part.title, part.properties["type"]) for part in found.parts] == [
        ("a1e+9", "number"),
        ("b", "number"),
        ("c", "array"),
    ]
    assert not found.problems


@pytest.mark.parametrize("data", [b"[1, {}]", b'"text"', b"12", b"null"])
def test_json_that_is_no_object_is_text(data: bytes) -> None:
    found = parse_json(data, "a.json")
    assert (found.text, list(found.parts), list(found.problems)) == (data.decode(), [], [])


@pytest.mark.parametrize(
    ("data", "keys", "problem"),
    [
        ('{"a": 1,\n "b": {"c": 2 "d": 3}}', ["a"], "line 2, column 8: this is not expected."),
        ('{"a": 1, b: 2}', ["a"], "line 1, column 8: this is not expected."),
        ('{"a" 1}', [], "line 1, column 2: this is not expected."),
        ('{"a": 1, "b": }', ["a"], "line 1, column 14: something is missing."),
        ('{"a": 1, "b": [1', ["a"], "line 1, column 17: it ends too early."),
        ('{"a": 1} x', ["a"], "line 1, column 10: this is not expected."),
        ('{"a": 1} {"b": 2}', ["a"], "line 1, column 10: more follows after its end."),
        ('{"a": [1,,2], "b": 3}', [], "line 1, column 9: this is not expected."),
        ('{"a": 1, "b": {"c": 1, "d"', ["a"], "line 1, column 27: it ends too early."),
        ('{"a": 01}', ["a"], "line 1, column 8: this is not expected."),
        ('{"a": "x\ny"}', [], "line 2, column 1: this is not expected."),
        ("", [], "line 1, column 1: it ends too early."),
    ],
)
def test_malformed_json_is_told_with_its_place(data: str, keys: list[str], problem: str) -> None:
    found = parse_json(data.encode(), "a.json")
    assert [part.key for part in found.parts] == keys
    assert found.problems == [f"It is no valid JSON: {problem}"]


def test_of_malformed_json_the_rest_is_text() -> None:
    assert parse_json(b'{"a": 1, "b": oops}', "a.json").text == '"b": oops}'


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"[" * 1_100_000])
def test_json_nested_however_deeply_is_survived(data: bytes) -> None:
    found = parse_json(data, "a.json")
    assert found.problems


def test_a_long_text_is_cut_and_told() -> None:
    found = parse_json(b'{"a": "' + b"x" * 200_000 + b'", "b": 1}', "a.json")
    assert len(found.parts[0].text) == LONGEST_TEXT
    assert found.parts[1].text == '"b": 1'
    assert found.problems == ["The text of some entries was cut after 100,000 characters: a."]


def test_of_very_many_entries_the_first_are_parts() -> None:
    found = parse_json(json.dumps(dict.fromkeys(map(str, range(6000)), 0)).encode(), "a.json")
    assert len(found.parts) == MOST_PARTS
    assert found.text.startswith('"5000": 0')
    assert found.problems == ["It has 6,000 entries; the first 5,000 of them are parts."]


def test_json_lines_are_text() -> None:
    found = parse_json_lines(b'{"a": 1}\n\n[2]\n', "a.jsonl")
    assert (found.kind, found.text, dict(found.properties)) == ("jsonl", '{"a": 1}\n\n[2]', {"lines": 3})
    assert not found.parts
    assert not found.problems


def test_a_malformed_line_is_told() -> None:
    found = parse_json_lines(b'{"a": 1}\n{"a": }\n{', "a.jsonl")
    assert found.problems == ["It is no valid JSON: line 2, column 7."]


def test_of_very_many_json_lines_the_first_are_kept() -> None:
    found = parse_json_lines(b'{"a": 1}\n' * 50_000, "a.jsonl")
    assert len(found.text) <= LONGEST_TEXT
    assert found.properties == {"lines": 50_000}
    assert found.problems == ["It has 450,000 characters; the first 100,000 were kept."]


def test_the_entries_of_a_yaml_file_are_parts_with_their_comments() -> None:
    found = parse_yaml(YAML.encode(), "a.yaml")
    assert (found.kind, found.text, found.problems) == ("yaml", "# The settings of a house.", [])
    assert told(found) == [
        ("people", "people", "array", 3, 4),
        ("rooms", "rooms", "array", 5, 7),
        ("note", "note", "string", 9, 11),
        ("a-key", "a key", "number", 13, 13),
        ("again", "again", "alias", 14, 14),
        ("1-2", "[1, 2]", "number", 15, 16),
        ("empty", "empty", "null", 17, 17),
    ]
    assert found.parts[0].text == '# who lives there\npeople: [Ann, "Bo"]  # two'
    assert found.parts[1].text == "rooms:\n  - kitchen\n  - hall: {doors: 2}"


@pytest.mark.parametrize(
    ("value", "kind"),
    [("yes", "boolean"), ("'yes'", "string"), ("~", "null"), ("2024-01-02", "date"), ("!x y", "string")],
)
def test_the_types_of_yaml_values_are_told(value: str, kind: str) -> None:
    assert parse_yaml(f"a: {value}\n".encode(), "a.yaml").parts[0].properties["type"] == kind


def test_a_yaml_file_can_have_several_documents() -> None:
    found = parse_yaml("kind: A\n---\n- one\n---\nkind: B\nname: é𝄞\n".encode(), "a.yaml")
    assert [(part.key, part.text, part.properties.get("document")) for part in found.parts] == [
        ("kind", "kind: A", None),
        ("kind~2", "kind: B", 3),
        ("name", "name: é𝄞", 3),
    ]
    assert found.text == "- one"
    assert found.properties == {"documents": 3}


@pytest.mark.parametrize("text", ["just text", "- 1\n- 2", "# only a comment", ""])
def test_yaml_that_is_no_mapping_is_text(text: str) -> None:
    found = parse_yaml(text.encode(), "a.yaml")
    assert (found.text, list(found.parts), list(found.problems)) == (text, [], [])


def test_malformed_yaml_is_told_with_its_place() -> None:
    found = parse_yaml(b"a: 1\nb: [1, 2\nc: 3\n", "a.yaml")
    assert [part.key for part in found.parts] == ["a"]
    assert found.text == "b: [1, 2\nc: 3"
    assert found.problems[0].startswith("It is no valid YAML: line 3, column ")


def test_the_aliases_of_yaml_are_not_followed() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = itertools.pairwise(letters)
    laughs = "a: &a [ha, ha]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairs)
    found = parse_yaml(laughs.encode(), "a.yaml")
    assert len(found.parts) == 26
    assert sum(len(part.text) for part in found.parts) < len(laughs)


def test_no_objects_are_made_of_yaml() -> None:
    found = parse_yaml(b"a: !!python/object/apply:os.abort []\nb: 1\n", "a.yaml")
    assert [part.key for part in found.parts] == ["a", "b"]


@pytest.mark.parametrize("piece", ["[", "{", "- ", "? ", "[\n", "a: {"])
def test_yaml_nested_however_deeply_is_survived(piece: str) -> None:
    found = parse_yaml(b"first: 1\n---\n" + piece.encode() * 100_000, "a.yaml")
    assert [part.key for part in found.parts] == ["first"]
    assert found.problems


def test_the_tables_of_a_toml_file_and_the_keys_before_them_are_parts() -> None:
    found = parse_toml(TOML.encode(), "a.toml")
    assert (found.kind, found.text, found.problems) == ("toml", "# The settings of a tool.", [])
    assert told(found) == [
        ("name", "name", "string", 3, 4),
        ("sizes", "sizes", "array", 5, 8),
        ("text", "text", "string", 9, 11),
        ("made", "made", "date", 12, 12),
        ("look-colours", "look.colours", "object", 14, 16),
        ("person", "person", "object", 18, 19),
        ("person~2", "person", "object", 20, 21),
    ]
    assert found.parts[4].text == '# how it looks\n[look.colours]\nred = { depth = "]" }'


def test_malformed_toml_is_told_and_its_tables_are_found() -> None:
    found = parse_toml(b"a = \n[x]\n??\n[y]\nb = 1\n", "a.toml")
    assert [(part.key, part.text) for part in found.parts] == [("x", "[x]\n??"), ("y", "[y]\nb = 1")]
    assert found.text == "a ="
    assert found.problems == ["It is no valid TOML: Invalid value (at line 1, column 5)."]


@pytest.mark.parametrize(
    "data",
    [
        b"a=" + b"[" * 200_000,
        b"a=" + b"{b=" * 200_000,
        b'a="""' + b'\\"""' * 200_000,
        b'"' * 500_000,
        b"a." * 500_000 + b"a=1",
        b"[" * 500_000,
        b"a=\n" * 200_000,
        b"a=" + b"1" * 5000,
    ],
)
def test_toml_that_means_harm_is_survived_in_little_time(data: bytes) -> None:
    began = time.process_time()
    assert parse_toml(data, "a.toml").problems
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("parser", "data"),
    [
        (parse_json, b"{" + b",".join(b'"k%d":0' % number for number in range(100_000)) + b"}"),
        (parse_json, b"/*" * 500_000),
        (parse_json, b'{"a": "' + b"\\n" * 1_000_000),
        (parse_yaml, b"{" + b", ".join(b"k%d: 0" % number for number in range(100_000)) + b"}"),
        (parse_yaml, b"# x\n" * 200_000 + b"a: 1\n"),
        (parse_yaml, b"a:\n" + b"\n" * 500_000 + b"b: 1\n"),
    ],
)
def test_long_files_take_little_time(parser: Parser, data: bytes) -> None:
    began = time.process_time()
    parser(data, "a")
    assert time.process_time() - began < 10


@pytest.mark.parametrize("parser", PARSERS)
def test_binary_data_is_unparsable(parser: Parser) -> None:
    with pytest.raises(Unparsable, match=r"^It is no text\.$"):
        parser(b"a: 1\0\x01\x02", "a")


@pytest.mark.parametrize("parser", PARSERS)
def test_bytes_that_are_no_text_are_told(parser: Parser) -> None:
    found = parser(b'"a' + b"b" * 5000 + b'\xff"', "a")
    assert "Some of its bytes are no text in its encoding, and stand as \ufffd." in found.problems


@pytest.mark.parametrize(("parser", "text"), [(parse_json, JSON), (parse_yaml, YAML), (parse_toml, TOML)])
def test_a_file_that_was_cut_off_anywhere_is_survived(parser: Parser, text: str) -> None:
    whole = [part.key for part in parser(text.encode(), "a").parts]
    for length in range(0, len(text), 10):
        keys = [part.key for part in parser(text[:length].encode(), "a").parts]
        assert keys[:-1] == whole[: max(0, len(keys) - 1)]


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes) -> None:
    for parser in PARSERS:
        try:
            found = parser(data, "a")
        except Unparsable as error:
            assert str(error).endswith(".")
        else:
            assert all(problem.endswith(".") for problem in found.problems)


@given(st.text(alphabet="ab:=[]{}\"'\\#-|>&*!?%,. \n\t/\x85\u2028", max_size=80))
def test_any_text_is_survived_and_its_parts_are_pieces_of_it(text: str) -> None:
    plain = text.encode().decode().replace("\r", "\n")
    for parser in (parse_json, parse_yaml, parse_toml):
        parts = parser(text.encode(), "a").parts
        assert len({part.key for part in parts}) == len(parts)
        for part in parts:
            assert part.text in plain
            assert part.text.count("\n") == part.last - part.first


_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.text(max_size=8), _JSON_VALUES, max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_the_entries_of_any_json_object_are_found(values: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    found = parse_json(json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace"), "a.json")
    assert not found.problems
    assert [json.loads("{" + part.text + "}") for part in found.parts] == [
        {name: value} for name, value in json.loads(json.dumps(values, ensure_ascii=True)).items()
    ]


@given(st.dictionaries(st.text("abc #:-", min_size=1, max_size=8), _JSON_VALUES, min_size=1, max_size=6), st.booleans())
def test_the_entries_of_any_yaml_mapping_are_found(values: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(values, default_flow_style=flow, sort_keys=False)
    found = parse_yaml(text.encode(), "a.yaml")
    assert not found.problems
    assert [part.title for part in found.parts] == [" ".join(name.split()) for name in values]

"""The parser for code, with files that are no sound code."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.test_documents_code_samples import PYTHON, SAMPLES, part, read, uses

from detent.documents.code.languages import FOLDERS
from detent.documents.code.parsing import parse
from detent.documents.parsed import Parsed, Unparsable

ENDINGS = sorted(f".{ending}" for ending in FOLDERS)
DEEP = 5_000


def _check(data: bytes, name: str) -> Parsed | None:
    """What must hold of any file."""
    try:
        parsed = parse(data, name)
    except Unparsable as refused:
        assert str(refused).endswith(".")
        return None
    seen = {""}
    for found in parsed.parts:
        assert found.key not in seen
        assert found.parent in seen
        assert 1 <= found.first <= found.last
        assert found.properties["name"]
        seen.add(found.key)
    assert {use.part for use in parsed.uses} <= seen
    texts = [parsed.text, *(found.text for found in parsed.parts), *(use.name for use in parsed.uses)]
    for text in texts:
        assert "\0" not in text
        text.encode()
    return parsed


@given(data=st.binary(max_size=400), ending=st.sampled_from(ENDINGS))
def test_any_bytes_are_read_or_refused_with_a_sentence(data: bytes, ending: str) -> None:
    _check(data, f"any{ending}")


@given(
    pieces=st.lists(
        st.sampled_from(
            [
                "def",
                "class",
                "fn",
                "impl",
                "struct",
                "function",
                "const",
                "import",
                "from",
                "use",
                "mod",
                "namespace",
                "template",
                "#",
                "//",
                "/*",
                "*/",
                "(",
                ")",
                "{",
                "}",
                "[",
                "]",
                "<",
                ">",
                "=",
                "=>",
                "->",
                ":",
                ";",
                ",",
                ".",
                "::",
                "'",
                '"',
                "`",
                "${",
                "@",
                "&",
                "*",
                "self",
                "this",
                "a",
                "b",
                "A",
                "é",
                "🙂",
                "\n",
                "\n\t",
                "\r\n",
            ]
        ),
        max_size=60,
    ),
    ending=st.sampled_from(ENDINGS),
)
def test_any_words_in_any_order_are_read(pieces: list[str], ending: str) -> None:
    assert _check(" ".join(pieces).encode(), f"any{ending}") is not None


@settings(max_examples=60)
@given(name=st.sampled_from(sorted(SAMPLES)), cut=st.integers(0, 3_000), begin=st.integers(0, 300))
def test_a_piece_of_a_file_is_read(name: str, cut: int, begin: int) -> None:
    assert _check(SAMPLES[name].encode()[begin:cut], name) is not None


@settings(max_examples=30)
@given(name=st.sampled_from(sorted(SAMPLES)), place=st.integers(0, 3_000), noise=st.binary(min_size=1, max_size=8))
def test_noise_in_a_file_is_survived(name: str, place: int, noise: bytes) -> None:
    data = SAMPLES[name].encode()
    _check(data[:place] + noise + data[place:], name)


@settings(max_examples=20)
@given(name=st.sampled_from(sorted(SAMPLES)))
def test_a_file_is_read_the_same_each_time(name: str) -> None:
    assert read(name) == read(name)


def test_a_fault_is_told_with_its_line_and_the_rest_is_read() -> None:
    parsed = parse(b"def a():\n    return 1\n\ndef b(:\n    return 2\n\ndef c():\n    return d()\n", "a.py")
    assert parsed.problems == ["Line 4 is not valid Python; the rest was read as far as possible."]
    assert part(parsed, "a").text == "def a():\n    return 1"
    assert ("d", "c") in uses(parsed, "call")


def test_a_binary_file_is_refused() -> None:
    with pytest.raises(Unparsable, match="binary"):
        parse(b"\x7fELF\x00\x00\x01\x02" * 40, "a.c")


def test_letters_that_are_no_utf8_are_told() -> None:
    parsed = parse(b"def gr\xf6n():\n    pass\n" + b"# x\n" * 2_000, "a.py")
    assert parsed.problems[0].startswith("Some of the file is not utf-8")


def test_a_file_in_another_encoding_is_read() -> None:
    assert part(parse("class Größe:\n    pass\n".encode("utf-16"), "a.py"), "Größe").first == 1


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("sign", ["()", "[]", "{}"])
def test_deep_brackets_are_survived(ending: str, sign: str) -> None:
    text = f"x = {sign[0] * DEEP}1{sign[1] * DEEP};\n"
    assert _check(text.encode(), f"deep{ending}") is not None


@pytest.mark.parametrize(
    ("name", "opening"),
    [
        ("a.js", "function f() {"),
        ("a.ts", "namespace a {"),
        ("a.rs", "mod a {"),
        ("a.rs", "use a::{"),
        ("a.java", "class A {"),
        ("a.cpp", "namespace a {"),
        ("a.rb", "module A\n"),
        ("a.go", "func f() { if a {"),
        ("a.c", "struct a { "),
    ],
)
def test_deep_scopes_are_survived_and_do_not_make_keys_of_any_length(name: str, opening: str) -> None:
    parsed = _check((opening * DEEP).encode(), name)
    assert parsed is not None
    assert all(len(found.key) < 1_000 for found in parsed.parts)


def test_functions_in_functions_are_told_as_far_as_someone_may_have_written_them() -> None:
    text = "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(100)) + " " * 100 + "pass\n"
    parsed = parse(text.encode(), "a.py")
    assert len(parsed.parts) == 32
    assert "def f99" in parsed.parts[-1].text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.js", "\"'" * 60_000),
        ("a.java", "a<" * 60_000),
        ("a.cpp", "a<" * 60_000),
        ("a.rs", "(" * 60_000),
        ("a.py", "a." * 70_000),
        ("a.py", "(a)" * 40_000),
        ("a.rb", "`${" * 40_000),
        ("a.go", "if(a) x; else " * 9_000),
        ("a.py", "x = [" + "f(a), " * 100_000 + "]"),
        ("a.js", "/* a */ " * 60_000),
        ("a.py", "# a\n" * 60_000),
        ("a.py", "a" + " " * 100_000 + ".b"),
    ],
)
def test_what_is_costly_is_read_or_given_up_in_time(name: str, text: str) -> None:
    begin = time.thread_time()
    assert _check(text.encode(), name) is not None
    assert time.thread_time() - begin < 15


def test_a_file_that_is_given_up_is_kept_as_text() -> None:
    parsed = parse(b"a<" * 5_000, "a.java")
    assert parsed.problems == ["The file is too tangled to be read as Java; it is kept as plain text."]
    assert parsed.text == "a<" * 5_000
    assert parsed.parts == ()


def test_a_file_with_twice_as_much_takes_about_twice_as_long() -> None:
    def seconds(times: int) -> float:
        data = "".join(PYTHON.replace("Shape", f"Shape{number}") for number in range(times)).encode()
        begin = time.thread_time()
        assert len(parse(data, "a.py").parts) == 5 * times
        return time.thread_time() - begin

    seconds(10)
    assert seconds(400) < 4 * max(seconds(200), 0.05)


def test_threads_read_at_the_same_time() -> None:
    names = sorted(SAMPLES) * 8
    alone = [read(name) for name in names]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, names)) == alone

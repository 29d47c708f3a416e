"""Notebooks: sections of their cells, in both formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.documents.notebook import LONGEST_OUTPUT, parse
from detent.documents.parsed import Link, Parsed, Unparsable


def markdown(source: str | list[str]) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def read(*cells: Any, **metadata: Any) -> Parsed:
    notebook = {"nbformat": 4, "metadata": metadata, "cells": list(cells)}
    return parse(json.dumps(notebook).encode(), "a.ipynb")


def test_headings_make_sections_in_which_code_stands() -> None:
    found = read(
        code("import tools"),
        markdown(["# The study\n", "Why we do it."]),
        code("x = 1\ny = 2"),
        markdown("## Results\nGood."),
        code("plot(x)"),
        markdown("# End"),
    )
    assert found.text == "import tools"
    assert [(part.key, part.parent, part.text, part.first, part.last) for part in found.parts] == [
        ("the-study", "", "Why we do it.\n\nx = 1\ny = 2", 2, 5),
        ("results", "the-study", "Good.\n\nplot(x)", 4, 5),
        ("end", "", "", 6, 6),
    ]
    assert [dict(part.properties) for part in found.parts] == [
        {"level": 1, "cells": "2-5"},
        {"level": 2, "cells": "4-5"},
        {"level": 1, "cells": "6"},
    ]


def test_a_cell_can_have_several_headings() -> None:
    found = read(markdown("intro\n# A\none\n## B ##\ntwo\n# A\nthree"))
    assert found.text == "intro"
    assert [(part.key, part.title, part.text) for part in found.parts] == [
        ("a", "A", "one"),
        ("b", "B", "two"),
        ("a~2", "A", "three"),
    ]


def test_what_looks_like_a_heading_in_a_fence_is_none() -> None:
    source = "# A\n```\n# no\n~~~\n# no\n```\n# B\n~~~~ python\n# no\n~~~\n# no"
    assert [part.title for part in read(markdown(source)).parts] == ["A", "B"]


@pytest.mark.parametrize("line", ["#no", "####### seven", "    # indented", "#", "\\# escaped"])
def test_what_is_no_heading_makes_no_section(line: str) -> None:
    found = read(markdown(line))
    assert not found.parts
    assert found.text == line.strip()


def test_outputs_are_shortened_and_pictures_left_out() -> None:
    found = read(
        code("show()", {"output_type": "stream", "text": ["\x1b[31mred\x1b[0m\n", "x" * 1000]}),
        code("plot()", {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}}),
        code("fail()", {"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": ["long"]}),
    )
    assert "show()\n\nred\nxxx" in found.text
    assert found.text.count("x") == LONGEST_OUTPUT - len("red\n")
    assert "plot()\n\n<Figure>" in found.text
    assert "iVBOR" not in found.text
    assert found.text.endswith("fail()\n\nKeyError: 'a'")


def test_links_are_told_with_their_section() -> None:
    found = read(markdown('# A\nSee [here](guide.md#top) and ![plot](img/a.png "t").'))
    assert found.links == [Link("link", "guide.md#top", "a", 1), Link("image", "img/a.png", "a", 1)]


def test_the_language_the_kernel_and_the_title_are_told() -> None:
    kernel = {"display_name": "Python 3", "name": "python3", "language": "python"}
    found = read(markdown("## x\n# First"), kernelspec=kernel, language_info={"name": "python"})
    assert (found.kind, found.title) == ("notebook", "First")
    assert found.properties == {"cells": 1, "language": "python", "kernel": "Python 3"}
    assert read(markdown("# First"), title="Named").title == "Named"


def test_the_old_format_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Old ", "days"]},
        {"cell_type": "code", "input": ["print(1)"], "outputs": [{"output_type": "stream", "text": "1\n"}]},
    ]
    notebook = {"nbformat": 3, "metadata": {"name": "Past"}, "worksheets": [{"cells": cells}]}
    found = parse(json.dumps(notebook).encode(), "a.ipynb")
    assert found.title == "Past"
    assert [(part.key, part.text) for part in found.parts] == [("old-days", "print(1)\n\n1")]
    assert found.parts[0].properties == {"level": 2, "cells": "1-2"}


def test_cells_that_are_none_are_told() -> None:
    found = read(3, {"cell_type": "hologram"}, markdown("text"), {"cell_type": "code", "source": 5, "outputs": "x"})
    assert found.text == "text"
    assert found.problems == ["2 of its 4 cells could not be read."]


def test_texts_have_no_zeros_and_no_lone_surrogates() -> None:
    found = parse(b'{"cells": [{"cell_type": "markdown", "source": "# a\\u0000b\\ud800c"}]}', "a.ipynb")
    assert found.parts[0].title == "a\ufffdb\ufffdc"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"cells": 3}', b"[" * 100_000, b"\0" * 10, b"1" * 5000])
def test_what_is_no_notebook_is_unparsable(data: bytes) -> None:
    with pytest.raises(Unparsable, match=r"^It is no notebook.*\.$"):
        parse(data, "a.ipynb")


def test_a_notebook_that_was_cut_off_anywhere_is_unparsable() -> None:
    whole = json.dumps({"cells": [markdown("# A\ntext"), code("x")], "metadata": {}}).encode()
    for length in range(0, len(whole), 10):
        with pytest.raises(Unparsable):
            parse(whole[:length], "a.ipynb")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["source", "cell_type", "outputs", "data", "text", "level"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)
_CELLS = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["markdown", "code", "heading", "raw"])},
    optional={"source": _VALUES, "input": _VALUES, "outputs": _VALUES, "level": _VALUES},
)


@given(st.lists(_CELLS | _VALUES, max_size=5), _VALUES)
def test_any_cells_are_survived(cells: list[Any], metadata: Any) -> None:
    notebook = {"cells": cells, "metadata": metadata}
    found = parse(json.dumps(notebook).encode(), "a.ipynb")
    keys = [part.key for part in found.parts]
    assert len(set(keys)) == len(keys)
    assert all(part.parent in {"", *keys} for part in found.parts)


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes) -> None:
    try:
        parse(data, "a.ipynb")
    except Unparsable as error:
        assert str(error).endswith(".")

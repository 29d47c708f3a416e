"""Files that are cut off, garbled or not what they should be: what was read before is told, and then one error."""

from __future__ import annotations

import bz2
import gzip
import random
import re
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

from detent.errors import DetentError
from detent.lifecycle import Trouble
from detent.sources.wiki.dump import Dump, DumpDamaged, Dumped, DumpMissing, DumpUnreadable, IndexMismatched, unpacking
from detent.sources.wiki.pages import Absent, Page

_NOISE = random.Random(5).randbytes(5_000)
PAGES = [DumpedPage(f"Owl {number}", f"Text {number * 7919}. " * 30) for number in range(40)]


def _until_damage(path: Path, cache: Path) -> tuple[list[Dumped], str]:
    found: list[Dumped] = []
    with pytest.raises(DetentError) as caught:
        found.extend(Dump(path, cache).pages())
    return found, str(caught.value)


def _stream_starts(path: Path) -> list[int]:
    return [match.start() for match in re.finditer(b"BZh9", path.read_bytes())]


@pytest.mark.parametrize("form", ["xml", "gz", "bz2", "multistream"])
def test_a_file_that_is_cut_off_is_read_up_to_there(tmp_path: Path, cache: Path, form: str) -> None:
    path = dumps.write(tmp_path, PAGES, form, per=5)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    found, reason = _until_damage(path, cache)
    assert [page.title for page in found] == [page.title for page in PAGES[: len(found)]]
    assert found or form == "bz2"
    assert str(path) in reason
    assert "it ends before its end" in reason
    assert "Download it again" in reason
    assert re.search(r"byte [\d,]+", reason)


def test_a_multistream_that_ends_between_two_streams_is_cut_off(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream-bare", per=10)
    starts = _stream_starts(path)
    path.write_bytes(path.read_bytes()[: starts[3]])
    found, reason = _until_damage(path, cache)
    assert len(found) == 20
    assert "it ends before its end" in reason
    assert "after the page 'Owl 19'" in reason


def test_a_garbled_stream_is_named_by_its_place(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream", per=10)
    starts = _stream_starts(path)
    data = bytearray(path.read_bytes())
    data[starts[3] + 60 : starts[3] + 90] = bytes(30)
    path.write_bytes(data)
    found, reason = _until_damage(path, cache)
    assert len(found) == 20
    assert f"byte {starts[3]:,}, where a stream of bz2 begins: it cannot be unpacked" in reason


def test_the_pages_of_other_streams_are_found_beside_a_garbled_one(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream", per=10)
    start = _stream_starts(path)[3]
    data = bytearray(path.read_bytes())
    data[start + 60 : start + 90] = bytes(30)
    path.write_bytes(data)
    found = Dump(path, cache).find(["Owl 5", "Owl 25", "Owl 35"])
    assert isinstance(found["Owl 5"], Page)
    assert isinstance(found["Owl 35"], Page)
    answer = found["Owl 25"]
    assert isinstance(answer, Absent)
    assert answer.trouble is Trouble.MALFORMED
    assert f"byte {start:,}" in answer.reason


def test_broken_xml_in_a_stream_leaves_the_pages_before_it(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES[:6], "multistream", per=3)
    starts = _stream_starts(path)
    data = path.read_bytes()
    stream = bz2.decompress(data[starts[2] : starts[3]]).replace(b"Text 31676. ", b"Text <31676. ", 1)
    path.write_bytes(data[: starts[2]] + bz2.compress(stream) + data[starts[3] :])
    index = next(tmp_path.glob("*index*"))
    index.unlink()
    found, reason = _until_damage(path, cache)
    assert len(found) == 4
    assert "not well-formed" in reason
    assert "after the page 'Owl 3'" in reason


def test_what_stands_behind_the_last_stream_is_damage(tmp_path: Path, cache: Path) -> None:
    for form in ("multistream", "bz2", "gz", "xml"):
        path = dumps.write(tmp_path, PAGES, form)
        path.write_bytes(path.read_bytes() + b"owl owl owl")
        found, reason = _until_damage(path, cache)
        assert len(found) == len(PAGES)
        assert "is damaged at" in reason


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"owl",
        b"\x00" * 5_000,
        _NOISE,
        b"BZh9" + _NOISE,
        b"\x1f\x8b" + _NOISE,
        b"BZ",
        b"BZh",
        b"BZh9",
        b"\x1f\x8b",
        b"7z\xbc\xaf\x27\x1c",
        bz2.compress(b""),
        gzip.compress(b""),
        bz2.compress(_NOISE),
        b"<mediawiki>" * 3,
        b"\xff\xfe<\x00m\x00",
    ],
    ids=range(16),
)
def test_garbage_is_told_as_such(tmp_path: Path, cache: Path, content: bytes) -> None:
    path = tmp_path / "owlwiki-pages-articles.xml.bz2"
    path.write_bytes(content)
    dump = Dump(path, cache)
    for attempt in (dump.site, lambda: list(dump.pages()), lambda: list(dump.titles()), lambda: dump.find(["Owl"])):
        with pytest.raises(DumpUnreadable, match=re.escape(str(path))):
            attempt()
    assert not list(cache.glob("*")) if cache.exists() else True


def test_a_folder_in_the_place_of_a_part_is_no_part(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "owlwiki.xml").mkdir()
    with pytest.raises(DumpMissing):
        Dump(tmp_path, cache).site()


def test_a_file_that_goes_away_is_missed_and_no_page_is_said_to_be_damaged(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, per=5)
    dump = Dump(path, cache)
    dump.find(["Owl 1"])
    path.unlink()
    with pytest.raises(DumpMissing, match="There is no dump"):
        dump.find(["Owl 30"])


def _index_of(path: Path) -> Path:
    return next(path.parent.glob("*index.txt"))


@pytest.mark.parametrize("attempt", ["titles", "find"])
def test_an_index_of_another_dump_is_told(tmp_path: Path, cache: Path, attempt: str) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream-text", per=5)
    index = _index_of(path)
    lines = index.read_text().splitlines(keepends=True)
    for wrong, reason in [
        ([f"{10**9}:11:Owl 0\n"], "it tells of a stream at byte 1,000,000,000"),
        ([line.replace("Owl", "Hawk") for line in lines], "'Hawk 0' is not in the stream at byte"),
        ([f"{int(line.split(':')[0]) + 1}:{line.split(':', 1)[1]}" for line in lines], "where it should be"),
        (lines[:-10], "it ends before the stream at byte"),
        ([], "it is empty"),
    ]:
        index.write_text("".join(wrong))
        dump = Dump(path, cache)
        with pytest.raises(IndexMismatched, match=reason) as caught:
            list(dump.titles()) if attempt == "titles" else dump.find(["Owl 3"])
        assert str(index) in str(caught.value)


def test_a_wrong_line_in_the_middle_of_an_index_spoils_only_its_page(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream-text", per=5)
    index = _index_of(path)
    lines = index.read_text().splitlines(keepends=True)
    lines[17] = "999:28:Owl 17\n"
    lines[18] = f"{lines[0].split(':')[0]}:29:Owl 18\n"
    index.write_text("".join(lines))
    found = Dump(path, cache).find(["Owl 16", "Owl 17", "Owl 18", "Owl 19"])
    assert isinstance(found["Owl 16"], Page)
    assert isinstance(found["Owl 19"], Page)
    for title in ("Owl 17", "Owl 18"):
        answer = found[title]
        assert isinstance(answer, Absent)
        assert answer.trouble is Trouble.MALFORMED
        assert str(path) in answer.reason


@pytest.mark.parametrize("line", ["owl", "1:2", ":::", "x:1:Owl", "-5:1:Owl", "1:2:", "", "9" * 30 + ":1:Owl"])
def test_a_line_that_is_none_is_told_with_its_place(tmp_path: Path, cache: Path, line: str) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream-text", per=5)
    index = _index_of(path)
    index.write_text(index.read_text() + line + "\nowl\n")
    with pytest.raises(DumpDamaged, match=r"index\.txt is damaged at line .*offset:id:title"):
        list(Dump(path, cache).titles())


def test_an_index_that_is_cut_off_or_no_text_is_damage(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream", per=5)
    index = next(tmp_path.glob("*index*"))
    data = index.read_bytes()
    for wrong in (data[: len(data) // 2], bz2.compress(b"1:2:\xff\xfe\n"), bz2.compress(b"x" * 1_000_000)):
        index.write_bytes(wrong)
        with pytest.raises(DumpDamaged, match=r"index\.txt\.bz2"):
            Dump(path, cache).find(["Owl 1"])


def test_an_index_for_what_is_no_multistream_is_told(tmp_path: Path, cache: Path) -> None:
    index = tmp_path / "index.txt"
    index.write_text("5:1:Owl\n")
    for form in ("xml", "bz2"):
        with pytest.raises(IndexMismatched, match="the dump is no multistream"):
            Dump(dumps.write(tmp_path, PAGES, form), cache, index).find(["Owl 1"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_damage_to_a_file_ends_in_pages_or_an_error_of_ours(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(dumps.FORMS[:-1]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = dumps.write(folder, PAGES[:12], form, per=4)
        target = data.draw(st.sampled_from(sorted(each for each in folder.iterdir())))
        content = target.read_bytes()
        place = data.draw(st.integers(0, len(content)))
        cut = data.draw(st.integers(0, 200))
        target.write_bytes(content[:place] + data.draw(st.binary(max_size=8)) + content[place + cut :])
        for attempt in (lambda dump: list(dump.pages()), lambda dump: dump.find(["Owl 3", "Owl 11", "Owl"])):
            try:
                attempt(Dump(path, folder / "cache"))
            except DumpUnreadable as error:
                assert name in str(error)


def test_a_stream_that_unpacks_to_much_is_unpacked_no_further_than_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_LONGEST_HELD", 1_000_000)
    path = tmp_path / "bomb.xml.bz2"
    path.write_bytes(bz2.compress(b"<mediawiki>" + bytes(30_000_000)))
    tracemalloc.start()
    try:
        pieces = unpacking.pieces(path)
        assert len(next(pieces)) <= unpacking.PIECE
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        del pieces
    finally:
        tracemalloc.stop()

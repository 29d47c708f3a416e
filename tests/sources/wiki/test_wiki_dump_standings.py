"""How the pages of a dump stand: learned at once where many are asked for, and the same as when each is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

from detent.sources import PartlyTold
from detent.sources.wiki.dump import Dump, catalogue
from detent.sources.wiki.handling import ByDump
from detent.sources.wiki.settings import WikiSettings

COUNT, PER_STREAM = 3_000, 100
PAGES = [
    DumpedPage(
        f"{n * 7 % COUNT:04} owls", "They hoot.", redirect=f"{(n + 1_501) * 7 % COUNT:04} owls" if n % 3 == 1 else None
    )
    for n in range(COUNT)
]
"""Neighbours in the dump are far from each other by their titles, and every third leads to the middle of elsewhere."""
TITLES = sorted(page.title for page in PAGES)
KINDS = [
    DumpedPage("Owl", "A bird."),
    DumpedPage("Owls", redirect="Owl#Kinds"),
    DumpedPage("Barn owls", redirect="owls"),
    DumpedPage("A", redirect="B"),
    DumpedPage("B", redirect="A"),
    DumpedPage("Lost", redirect="Nowhere"),
    DumpedPage("Hidden", "secret", deleted=True),
    DumpedPage("To hidden", redirect="Hidden"),
    DumpedPage("Style.css", "a {}", model="css"),
    DumpedPage("Ünï\t“code”", "Signs."),
    DumpedPage("Twice", "Once."),
    DumpedPage("Twice", "And again."),
]
ASKED = [*(page.title for page in KINDS), "owl", "Nowhere", "Barn_owls", "barn owls#Food", "de:Eule", "<", ""]

Standing = Callable[[Sequence[str]], dict[str, str]]


def _standing(path: Path, cache: Path) -> Standing:
    return ByDump(WikiSettings(dump=path, cache=cache), Dump(path, cache)).standing


@pytest.mark.parametrize("form", ["multistream", "multistream-bare"])
def test_all_pages_are_told_of_in_any_order_while_each_stream_is_unpacked_once(
    tmp_path: Path, form: str, unpacked: Counter[int]
) -> None:
    path = dumps.write(tmp_path, PAGES, form, per=PER_STREAM)
    Dump(path, tmp_path / "cache").find(["No owls"])  # makes the index, which looks at the first and the last stream
    unpacked.clear()
    standing = _standing(path, tmp_path / "cache")
    told: dict[str, str] = {}
    for start in range(0, COUNT, 500):
        told |= standing(TITLES[start : start + 500])
    assert len(told) == COUNT
    assert set(unpacked.values()) == {1}
    assert len(unpacked) == COUNT // PER_STREAM
    assert told[PAGES[0].title] == "5001"
    assert told[PAGES[1].title] == f"another name of {PAGES[1].redirect}"
    unpacked.clear()
    assert _standing(path, tmp_path / "cache")(TITLES) == told
    assert not unpacked


def test_for_a_few_titles_nothing_else_is_unpacked(tmp_path: Path, unpacked: Counter[int]) -> None:
    cache = tmp_path / "cache"
    path = dumps.write(tmp_path, PAGES, per=PER_STREAM)
    Dump(path, cache).find(["No owls"])
    unpacked.clear()
    standing = _standing(path, cache)
    assert standing([PAGES[0].title, PAGES[600].title]) == {PAGES[0].title: "5001", PAGES[600].title: "11001"}
    assert unpacked.total() == 2
    assert len(list(cache.iterdir())) == 1
    standing([PAGES[900].title])
    assert len(list(cache.iterdir())) == 3
    unpacked.clear()
    standing(TITLES)
    assert not unpacked


@pytest.mark.parametrize("form", dumps.FORMS)
def test_titles_stand_as_they_are_found(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = dumps.write(tmp_path, KINDS, form, per=3)
    told = _standing(path, tmp_path / "cache")(ASKED)
    monkeypatch.setattr(Dump, "standing", Dump.find)
    assert told == _standing(path, tmp_path / "cache")(ASKED)
    assert told["Barn owls"] == "another name of Owl"
    assert told["Style.css"] == told["Hidden"] == told["To hidden"] == told["A"] == told["Lost"] == "missing"


@given(st.dictionaries(st.sampled_from("ABCDEFGH"), st.sampled_from(["", *"ABCDEFGHI"])))
def test_any_web_of_redirects_stands_as_it_is_found(
    tmp_path_factory: pytest.TempPathFactory, web: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("web")
    path = dumps.write(folder, [DumpedPage(title, redirect=to or None) for title, to in web.items()], "xml")
    multistream = dumps.write(folder, [DumpedPage(title, redirect=to or None) for title, to in web.items()], per=2)
    if web:
        assert _standing(path, folder / "cache")("ABCDEFGHI") == _standing(multistream, folder / "cache")("ABCDEFGHI")


def test_what_is_damaged_or_misplaced_is_not_told_and_all_else_is(tmp_path: Path) -> None:
    pages = [DumpedPage(f"Owl {number}", f"Text {number * 7919}. " * 30) for number in range(40)]
    path = dumps.write(tmp_path, [*pages, DumpedPage("To 25", redirect="Owl 25")], "multistream-text", per=10)
    index = next(tmp_path.glob("*index*"))
    lines = index.read_text().splitlines(keepends=True)
    start = int(lines[25].split(":")[0])
    lines[17] = f"{lines[0].split(':')[0]}:28:Owl 17\n"
    lines.pop(5)
    index.write_text("".join(lines))
    data = bytearray(path.read_bytes())
    data[start + 60 : start + 90] = bytes(30)
    path.write_bytes(data)
    with pytest.raises(PartlyTold, match=r"not at byte|damaged at byte") as caught:
        _standing(path, tmp_path / "cache")([*(page.title for page in pages), "To 25"])
    told = caught.value.standing
    assert set(told) == {page.title for page in pages} - {"Owl 17", *(f"Owl {number}" for number in range(20, 30))}
    assert told["Owl 5"] == "missing"  # the index does not name it
    assert told["Owl 35"] == "5351"


def test_what_is_spoiled_or_gone_of_what_was_learned_is_learned_again_or_read(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = dumps.write(tmp_path, KINDS, per=3)
    told = _standing(path, cache)(ASKED)
    [lines] = cache.glob("*.standings")
    [table] = cache.glob("*.standings.npy")
    lines.unlink()
    assert _standing(path, cache)(ASKED) == told
    table.write_bytes(b"owl")
    assert _standing(path, cache)(ASKED) == told
    for wrong in (b"", b"\n", b"owl\n" * 100, b"[1]\n" * 100, lines.read_bytes()[:-20]):
        lines.write_bytes(wrong)
        assert _standing(path, cache)(ASKED) == told


def test_titles_of_the_same_digest_stand_each_as_its_own_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = catalogue.digests
    monkeypatch.setattr(catalogue, "digests", lambda titles: digests([title[:1] for title in titles]))
    path = dumps.write(tmp_path, KINDS, per=3)
    standing = _standing(path, tmp_path / "cache")
    assert standing(["Owl", "Owls", "Ox"]) == {"Owl": "5001", "Owls": "another name of Owl", "Ox": "missing"}


def test_what_was_learned_goes_with_its_dump(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = dumps.write(tmp_path, KINDS, per=3)
    _standing(path, cache)(ASKED)
    assert len(list(cache.iterdir())) == 3
    Dump(path, cache).tidy([])
    assert list(cache.iterdir()) == []


def test_what_was_learned_of_a_dump_is_not_told_of_the_one_that_replaces_it(tmp_path: Path) -> None:
    path = dumps.write(tmp_path, KINDS, per=3)
    standing = _standing(path, tmp_path / "cache")
    assert standing(["Owl", "Hawk"]) == {"Owl": "5001", "Hawk": "missing"}
    dumps.write(tmp_path, [DumpedPage("Hawk", "It is new."), *KINDS], per=3)
    assert standing(["Owl", "Hawk"]) == {"Owl": "5011", "Hawk": "5001"}

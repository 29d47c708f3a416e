"""A dump that is replaced while it is in use, as by a nightly download: what is asked next, the new file answers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage, Wiki, text_of

from detent.sources.wiki.dump import Dump, DumpMissing, artifacts, unpacking
from detent.sources.wiki.pages import Absent

OLD = [DumpedPage(f"Owl {number}", f"Text {number}.", revision=100 + number) for number in range(30)]
NEW = [DumpedPage("Hawk", "It is new."), *(DumpedPage(page.title, f"{page.text} More.") for page in OLD[1:])]


@pytest.mark.parametrize("form", dumps.FORMS)
def test_pages_are_those_of_the_file_that_is_there(tmp_path: Path, cache: Path, form: str) -> None:
    dump = Dump(dumps.write(_emptied(tmp_path / "dumps"), OLD, form, per=10), cache)
    assert text_of(dump, "Owl 29") == "Text 29."
    assert isinstance(dump.find(["Hawk"])["Hawk"], Absent)
    dumps.write(_emptied(tmp_path / "dumps"), NEW, form, per=7)
    assert text_of(dump, "Hawk") == "It is new."
    assert text_of(dump, "Owl 29") == "Text 29. More."
    assert isinstance(dump.find(["Owl 0"])["Owl 0"], Absent)
    assert {page.title for page in dump.pages()} == {page.title for page in NEW}


def test_a_new_file_may_be_packed_in_another_way_and_spell_otherwise(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, OLD, "multistream-bare")
    dump = Dump(path, cache)
    assert not dump.site().case_sensitive
    dump.find(["Owl 1"])
    path.write_bytes(dumps.xml(NEW, Wiki(case="case-sensitive")))
    assert dump.site().case_sensitive
    assert text_of(dump, "Hawk") == "It is new."


def test_a_part_that_comes_to_a_folder_is_read_too(tmp_path: Path, cache: Path) -> None:
    folder = _emptied(tmp_path / "dumps")
    dumps.write(folder, OLD, "xml").rename(folder / "owls1.xml")
    dump = Dump(folder, cache)
    assert isinstance(dump.find(["Hawk"])["Hawk"], Absent)
    dumps.write(folder, NEW[:1], "xml").rename(folder / "owls2.xml")
    assert text_of(dump, "Hawk") == "It is new."
    assert text_of(dump, "Owl 3") == "Text 3."


def test_an_index_that_is_replaced_is_read_again(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, OLD, "multistream-text", per=10)
    index = next(tmp_path.glob("*index*"))
    right = index.read_text()
    index.write_text(right.replace("Owl 15", "Owl fifteen"))
    dump = Dump(path, cache)
    assert isinstance(dump.find(["Owl 15"])["Owl 15"], Absent)
    index.write_text(right)
    assert text_of(dump, "Owl 15") == "Text 15."


@pytest.mark.parametrize("form", ["xml", "multistream"])
def test_what_is_read_of_a_file_that_is_replaced_meanwhile_is_not_told(
    tmp_path: Path, cache: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = Dump(dumps.write(tmp_path, OLD, form, per=10), cache)
    text_of(dump, "Owl 1")
    kind = "plain" if form == "xml" else "stream"
    read = getattr(unpacking, kind)

    def replaced(*given: int) -> Iterator[bytes]:
        monkeypatch.undo()
        dumps.write(tmp_path, NEW, form, per=7)
        return read(*given)  # type: ignore[no-any-return]

    monkeypatch.setattr(unpacking, kind, replaced)
    with pytest.raises(DumpMissing, match="was replaced while it was read"):
        dump.find(["Owl 29"])
    assert text_of(dump, "Owl 29") == "Text 29. More."


def test_a_file_that_is_the_same_is_not_opened_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = Dump(dumps.write(tmp_path, OLD, "multistream", per=10), cache)
    text_of(dump, "Owl 1")
    looked = list[Path]()
    stamp = artifacts.stamp

    def fail(*_: object) -> None:
        raise AssertionError("opened again")

    def counted(path: Path) -> str:
        looked.append(path)
        return stamp(path)

    monkeypatch.setattr(unpacking, "opened", fail)
    monkeypatch.setattr(artifacts, "stamp", counted)
    assert text_of(dump, "Owl 2") == "Text 2."
    assert len(looked) == 4  # the dump and its index, before and after


def _emptied(folder: Path) -> Path:
    """A folder for a dump, from which an older one is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder

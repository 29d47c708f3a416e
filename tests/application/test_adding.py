"""Sources of registered types are added, changed and listed through the door."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki.server import WikiServer

import detent
from detent import AsyncDetent, DetentError, plugins
from detent.application.adding import find_type, list_types
from detent.configuration import EmbeddingSettings
from detent.embedding import open_provider
from detent.errors import DiscoveryFailed, InvalidSetting, InvalidSource, UnknownName, UnknownSetting
from detent.plugins import PluginBroken

Install = Callable[..., None]

TALKATIVE = """
import detent
from detent.lifecycle import NODE

def make(name, settings):
    token = settings["token"]

    def discover():
        yield from (detent.NewItem(key, "Moth") for key in ("done", "failed", "raised", "retried", "skipped"))
        raise ValueError(f"asked with {token}")

    def work(item):
        match item.key:
            case "done":
                return detent.Done(note=f"asked with {token}")
            case "failed":
                return detent.Failed(f"asked with {token}")
            case "retried":
                return detent.Retry(f"asked with {token}")
            case "skipped":
                return detent.Skipped(f"asked with {token}")
        raise ValueError(f"asked with {token}")

    return detent.Source(name, {"Moth": NODE}, [detent.Handler("parsing", work)], discover)

REGISTERED = detent.SourceType("moths", "Add moths.", make, [detent.Option("token", "A token.", secret=True)])
"""


@pytest.fixture
async def db(database: str, tmp_path: Path) -> AsyncIterator[AsyncDetent]:
    (tmp_path / "docs").mkdir()
    async with detent.open_async(tmp_path, database=database) as opened:
        yield opened


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs packages, each a module with an entry point."""

    installed: list[str] = []

    def add(module: str, text: str, name: str, group: str = "detent.sources") -> None:
        site = tmp_path / "site"
        about = site / f"{module}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:REGISTERED\n")
        (site / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(site)
        sys.modules.pop(module, None)
        installed.append(module)
        plugins.forget()

    yield add
    plugins.forget()
    for module in installed:
        sys.modules.pop(module, None)


async def test_a_source_is_added_changed_and_listed(db: AsyncDetent, tmp_path: Path) -> None:
    added = await db.add_source("docs", "files", folder=tmp_path / "docs", include=["*.md"], max_bytes=9)
    assert added.told == f"docs is the folder {tmp_path / 'docs'}. `detent run` reads it."
    changed = await db.change_source("docs", exclude=["old"])
    assert (changed.settings["include"], changed.settings["exclude"]) == (["*.md"], ["old"])
    [listed] = await db.list_sources()
    assert (listed.type, listed.settings, listed.labels) == ("files", changed.settings, [])
    assert json.loads(json.dumps([changed.as_data(), listed.as_data()]))[1]["settings"]["most_bytes"] == 9


async def test_added_again_what_is_not_said_is_as_it_is_by_default(db: AsyncDetent, tmp_path: Path) -> None:
    await db.add_source("docs", "files", folder=tmp_path / "docs", include=["*.md"])
    again = await db.add_source("docs", "files", folder=tmp_path / "docs", hidden=True)
    assert (again.settings["include"], again.settings["hidden"]) == ([], True)


@pytest.mark.parametrize(
    ("type_", "settings", "error", "told"),
    [
        ("flies", {}, UnknownName, "no type of source 'flies'. Did you mean 'files'"),
        ("files", {}, InvalidSetting, "needs FOLDER"),
        ("files", {"folder": ".", "inclde": ["*"]}, UnknownSetting, "no setting 'inclde'. Did you mean 'include'"),
        ("files", {"folder": ".", "include": "*"}, InvalidSetting, "--include: '\\*' cannot be used: it takes a list"),
        ("files", {"folder": ".", "max_bytes": -1}, InvalidSetting, "it is a whole number at least 0"),
        ("files", {"folder": ".", "hidden": "yes"}, InvalidSetting, "it takes True or False"),
        ("files", {"folder": "nowhere"}, DetentError, "There is no folder"),
        ("files", {"folder": ".", "language": "klingon"}, UnknownName, "klingon"),
        ("wiki", {"seeds": ["Owl"], "seeds_file": "nowhere"}, InvalidSetting, "--seeds-file: there is no file nowhere"),
    ],
)
async def test_a_mistake_is_told_and_nothing_is_kept(
    db: AsyncDetent, type_: str, settings: dict[str, Any], error: type[DetentError], told: str
) -> None:
    with pytest.raises(error, match=told):
        await db.add_source("docs", type_, **settings)
    assert await db.list_sources() == []


async def test_what_was_not_added_cannot_be_changed(db: AsyncDetent) -> None:
    with pytest.raises(UnknownName):
        await db.change_source("docs", hidden=True)


async def test_a_wiki_is_asked_for_its_seeds_and_a_person_for_a_contact(db: AsyncDetent) -> None:
    with WikiServer({"Owl": "It hunts.", "Owls": "#REDIRECT [[Owl]]"}) as wiki:
        added = await db.add_source("birds", "wiki", api=wiki.api, seeds=["Owls"])
    assert (added.settings["seeds"], list(added.notes)) == (["Owl"], ["Owls is Owl in this wiki."])
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        raise DetentError("never mind")

    with pytest.raises(DetentError, match="never mind"):
        await db.add_source("ml", "wiki", seeds=["Machine learning"], ask=ask)
    assert "e-mail" in asked[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("REGISTERED = 7", "it is no detent.SourceType of the name 'moths'"),
        ("raise SystemError('boom')", "SystemError: boom"),
    ],
)
async def test_a_broken_package_is_told_where_it_is_needed_and_nowhere_else(
    db: AsyncDetent, install: Install, tmp_path: Path, text: str, reason: str
) -> None:
    install("broken", text, "moths")
    with pytest.raises(PluginBroken, match=f"'moths', which broken registers under detent.sources.*{reason}"):
        find_type("moths")
    assert {each.name: bool(each.broken) for each in list_types()} == {"files": False, "wiki": False, "moths": True}
    assert [each.as_data()["name"] for each in await db.source_types()] == ["files", "wiki", "moths"]
    await db.add_source("docs", "files", folder=tmp_path / "docs")


async def test_a_package_cannot_take_the_name_of_a_type_of_detents_own(install: Install) -> None:
    install("thief", "REGISTERED = 7", "files")
    assert find_type("files").name == "files"


async def test_a_type_that_makes_no_source_is_told(db: AsyncDetent, install: Install) -> None:
    text = "import detent\nREGISTERED = detent.SourceType('moths', 'Add moths.', lambda name, settings: None)"
    install("moth", text, "moths")
    await db.add_source("night", "moths")
    with pytest.raises(InvalidSource, match="did not make the source 'night'"):
        await db.run()


def test_a_package_brings_a_provider_of_vectors(install: Install) -> None:
    install("letters", "REGISTERED = lambda settings: settings.provider", "letters", "detent.embedding")
    provider: object = open_provider(EmbeddingSettings(provider="letters"))
    assert provider == "letters"
    with pytest.raises(UnknownName, match="Did you mean 'letters'"):
        open_provider(EmbeddingSettings(provider="leters"))
    install("numbers", "import nothing_of_the_kind", "numbers", "detent.embedding")
    with pytest.raises(PluginBroken, match="numbers"):
        open_provider(EmbeddingSettings(provider="numbers"))


async def test_what_a_source_says_of_its_own_secret_is_masked_before_it_is_written(
    db: AsyncDetent,
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
    rows_of_all_tables: Callable[[], str],
    forgotten_secrets: None,
) -> None:
    install("moths", TALKATIVE, "moths")
    monkeypatch.setenv("DETENT_SECRET_NIGHT_TOKEN", "hunter2")
    await db.add_source("night", "moths")
    with pytest.raises(DiscoveryFailed, match=r"ValueError: asked with \*\*\*"):
        await db.run(wait=False)
    written = rows_of_all_tables()
    assert "hunter2" not in written
    assert written.count("asked with ***") >= 5

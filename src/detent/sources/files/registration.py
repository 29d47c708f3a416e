"""The type `files`, as it is registered: a folder of documents and code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from detent.errors import DetentError
from detent.sources.files.settings import MOST_BYTES, FolderSettings
from detent.sources.options import Option, Settings
from detent.sources.source import Source
from detent.sources.types import Adding, Counts, Prepared, SourceType


def make(name: str, settings: Settings) -> Source:
    from detent.sources.files.source import make

    return make(name, settings)


async def prepare(adding: Adding) -> Prepared:
    """Check that the folder is there. What is not said is as it is by default, unless the source is being changed."""
    given = {_FIELDS.get(name, name): value for name, value in adding.given.items()}
    if "root" in given:
        given["root"] = _folder(given["root"])
    before = FolderSettings.of(adding.known) if adding.known else None

    def change(known: Settings | None) -> Settings:
        if adding.changing and known is not None:
            return replace(FolderSettings.of(known), **given).as_data()
        return FolderSettings(**given).as_data()

    def told(settings: Settings, _: Counts) -> str:
        root = Path(settings["root"])
        instead = f", and no longer {before.root}" if before is not None and before.root != root else ""
        return f"{adding.name} is the folder {root}{instead}. `detent run` reads it."

    return Prepared(change, told=told)


def _folder(path: Path) -> Path:
    root = path.expanduser().resolve()
    if not root.is_dir():
        raise DetentError(f"There is no folder {root}.")
    return root


_FIELDS = {"folder": "root", "max_bytes": "most_bytes"}

FILES = SourceType(
    "files",
    "Add a folder of documents and code.",
    make,
    [
        Option("folder", "The folder to read.", Path, positional=True),
        Option("include", "Take only files like this, as in .gitignore.", repeatable=True, metavar="GLOB"),
        Option("exclude", "Leave out what is like this, as in .gitignore.", repeatable=True, metavar="GLOB"),
        Option("hidden", "Take hidden files and folders too.", bool),
        Option("max_bytes", "Of larger files only metadata is kept.", int, default=MOST_BYTES, metavar="N", at_least=0),
        Option("language", "The language of its texts, such as english.", metavar="NAME"),
    ],
    description="""Add FOLDER as the source NAME: every file in it, with its sections, functions and links.

    What .gitignore and .detentignore say is heeded. Called again with the same NAME, it changes what is taken.""",
    examples=(
        "detent add files docs ./docs",
        'detent add files code . --include "*.py" --exclude "build/"',
        "detent add files notes ~/notes --language english",
    ),
    prepare=prepare,
)

"""`detent add`: sources of Detent's own types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, Group, with_session
from detent.cli.session import Session
from detent.cli.wiki import wiki
from detent.errors import DetentError

if TYPE_CHECKING:
    from detent.application.connecting import Connected


@click.group(cls=Group, short_help="Add a source: a folder of files, a wiki.")
def add() -> None:
    """Add a source of one of Detent's own types, or change what one is to do.

    `detent run` then works on it.

    \b
    Examples:
      detent add files docs ./docs
      detent add wiki ml --seed "Machine learning" --depth 2
    """


add.add_command(wiki)


@add.command(cls=Command, short_help="Add a folder of documents and code.")
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--include", multiple=True, metavar="GLOB", help="Take only files like this, as in .gitignore.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out what is like this, as in .gitignore.")
@click.option("--hidden", is_flag=True, help="Take hidden files and folders too.")
@click.option("--max-bytes", type=click.IntRange(min=0), metavar="N", help="Of larger files only metadata is kept.")
@click.option("--language", metavar="NAME", help="The language of its texts, such as english.")
@with_session
def files(
    session: Session,
    *,
    name: str,
    folder: Path,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    hidden: bool,
    max_bytes: int | None,
    language: str | None,
) -> None:
    """Add FOLDER as the source NAME: every file in it, with its sections, functions and links.

    What .gitignore and .detentignore say is heeded. Called again with the same NAME, it changes what is taken.

    \b
    Examples:
      detent add files docs ./docs
      detent add files code . --include "*.py" --exclude "build/"
      detent add files notes ~/notes --language english
    """
    from detent.sources.files.settings import MOST_BYTES, FolderSettings

    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise DetentError(f"There is no folder {root}.")
    most_bytes = MOST_BYTES if max_bytes is None else max_bytes
    settings = FolderSettings(root, include, exclude, hidden, most_bytes, language=language)

    async def added(opened: Connected) -> None:
        sources = opened.store.sources
        if language is not None:
            await sources.require_language(language)
        before = {each.name: each.settings.get("root") for each in await sources.configured()}.get(name)
        await sources.configure(name, "files", settings.as_data())
        instead = f", and no longer {before}" if before not in (None, str(root)) else ""
        session.say(f"{name} is the folder {root}{instead}. `detent run` reads it.")

    session.with_new_store(added)

"""`detent init`: a project's folder and its settings file."""

from __future__ import annotations

from pathlib import Path

import click

from detent.cli.options import Command, with_session
from detent.cli.session import Session

_NEXT = """\
Next:
  1. detent add files docs FOLDER    adds a folder of documents and code as a source; detent add wiki adds a wiki.
       To write your own: put a list SOURCES of detent.Source into a Python module here, and name it in detent.toml:
       modules = ["my_module"] under [handlers].
  2. detent run                      processes all items.
  3. detent status, detent search    show the progress, and search the result."""


@click.command(cls=Command, short_help="Make a project here.")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@with_session
def init(session: Session, folder: Path | None) -> None:
    """Make FOLDER (default: the working directory) a project, with a folder .detent and a commented detent.toml.

    Existing files are left unchanged, so it is safe to run again.

    \b
    Examples:
      detent init
      detent init notes
    """
    from detent.application.projects import make_project
    from detent.configuration import Project, load

    project = make_project(folder or session.project or Path.cwd())
    words = f"Made {' and '.join(project.made)}" if project.made else "Nothing was to be made"
    click.echo(f"{words}: {project.root} is a project.")
    if not load(Project(project.root)).handlers.modules:
        click.echo(_NEXT)

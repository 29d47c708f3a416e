"""`detent init`: a project's folder and its settings file."""

from __future__ import annotations

from pathlib import Path

import click

from detent.cli.options import Command, with_session
from detent.cli.session import Session

_NEXT = """\
Next:
  1. detent add files docs FOLDER    makes a folder of documents and code a source, as detent add wiki does with a wiki;
       or write your own: a Python module here with a list SOURCES of detent.Source, named in detent.toml as
       modules = ["my_module"] under [handlers].
  2. detent run                      works until nothing is left to do.
  3. detent status, detent search    show how far it is, and find what was read."""


@click.command(cls=Command, short_help="Make a project here.")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@with_session
def init(session: Session, folder: Path | None) -> None:
    """Make FOLDER (the working directory) a project: a folder .detent and a commented detent.toml.

    What is there already is left as it is, so it can be called any number of times.

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

"""The program: its commands, its options, and what becomes of errors."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from detent.cli.completion import completion
from detent.cli.config import config
from detent.cli.database import database
from detent.cli.init import init
from detent.cli.items import items
from detent.cli.lifecycles import lifecycles
from detent.cli.options import Group, ReaderGone, global_options
from detent.cli.reset import reset
from detent.cli.retry import retry
from detent.cli.run import run, work
from detent.cli.sources import pause, resume, sources
from detent.cli.status import status
from detent.cli.story import show
from detent.errors import DetentError

MISTAKE, UNEXPECTED, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Exit status:
    0   it is done
    1   items failed, or a check found problems
    2   a mistake in the command or the settings, or the database cannot be used; nothing was changed
    3   nothing failed, but something is left: items that wait for a later retry, or that nobody works on
   70   an error in Detent itself
  130   stopped by Ctrl-C (128 + the signal's number; 143: by SIGTERM)

\b
Begin with:
  detent init                  make a project here
  detent run                   work until nothing is left to do
  detent status --watch        see how far it is
  detent items --state failed  see what failed
  detent COMMAND --help        what a command does, with examples""",
)
def program() -> None:
    """Turn sources into a searchable knowledge graph, and never lose your place.

    Every item has a state in a database, and workers move items from state to state. Kill any process at any
    moment: nothing is lost, and for every item you can see where it is and why.

    The database is PostgreSQL: the one that you name, or one that Detent starts by itself in the folder .detent
    of your project.
    """


program.params.extend(global_options())
for command in (
    *(init, run, work, status, sources, items, show, retry, reset, pause, resume),
    *(lifecycles, config, database, completion),
):
    program.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit. A user's mistake is a sentence, not a stack trace."""
    sys.exit(_status(arguments))


def _status(arguments: list[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = program.main(arguments, prog_name="detent", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except DetentError as error:
        return _complain(str(error), MISTAKE)
    except (KeyboardInterrupt, click.Abort):
        return _complain("Stopped.", INTERRUPTED)
    except (ReaderGone, BrokenPipeError):
        return _leave_quietly()
    except Exception as error:
        if _wants_trace(arguments):
            raise
        return _complain(_unexpected(error), UNEXPECTED)


def _complain(sentence: str, status: int) -> int:
    with contextlib.suppress(BrokenPipeError):
        click.echo(sentence, err=True)
    return status


def _unexpected(error: Exception) -> str:
    return (
        f"Detent met an error that it did not expect: {type(error).__name__}: {error}. What was stored is safe. "
        "Run the command again with --trace to see where it happened."
    )


def _wants_trace(arguments: list[str] | None) -> bool:
    given = sys.argv[1:] if arguments is None else arguments
    return "--trace" in given or bool(os.environ.get("DETENT_TRACE"))


def _leave_quietly() -> int:
    """Whoever read our output has gone (`detent items | head`), so nothing more is written to it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    return BROKEN_PIPE

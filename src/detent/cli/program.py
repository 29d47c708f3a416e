"""The program: its commands, its options, and its handling of errors."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import click

from detent.cli.options import Group, ReaderGone, global_options
from detent.errors import Ambiguous, DetentError

MISTAKE, UNEXPECTED, UNWRITABLE, INTERRUPTED, BROKEN_PIPE = 2, 70, 74, 130, 141
_SELDOM = 50_000
_NO_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

_SECTIONS = {
    "Work": {
        "init": "init.init",
        "add": "add.add",
        "run": "run.run",
        "watch": "run.watch",
        "work": "run.work",
    },
    "Look": {
        "status": "status.status",
        "sources": "sources.sources",
        "items": "items.items",
        "show": "story.show",
        "lifecycles": "lifecycles.lifecycles",
    },
    "Find": {
        "search": "search.search",
        "similar": "search.similar",
        "suggest": "search.suggest",
        "graph": "graph.graph",
    },
    "Steer": {
        "retry": "moving.retry",
        "reset": "moving.reset",
        "skip": "moving.skip",
        "pause": "sources.pause",
        "resume": "sources.resume",
        "remove": "remove.remove",
    },
    "Set up": {
        "config": "config.config",
        "db": "database.database",
        "migrate-flags": "migrate.migrate_flags",
        "completion": "completion.completion",
    },
}
"""The module and name of each command, in the order of the help."""

_COMMANDS = {name: place for section in _SECTIONS.values() for name, place in section.items()}


class Commands(Mapping[str, click.Command]):
    """The commands by name. Only the module of the command in use is imported."""

    def __getitem__(self, name: str) -> click.Command:
        module, attribute = _COMMANDS[name].split(".")
        command: click.Command = getattr(import_module(f"detent.cli.{module}"), attribute)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class Program(Group):
    """The program itself, whose help has its commands in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, _COMMANDS))
        for title, names in _SECTIONS.items():
            helps = [self.commands[name].get_short_help_str(formatter.width - longest - 6) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name.ljust(longest), text) for name, text in zip(names, helps, strict=True)])


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Exit status:
    0   success
    1   items failed, the items of a source could not be discovered, or a check found problems
    2   invalid command or settings, or the database cannot be used; nothing was changed
    3   nothing failed, but items are left: they wait for a later retry, or no worker serves them
   70   an error in Detent itself
   74   the output cannot be written
  130   stopped by Ctrl-C, or declined by the answer no (128 + the signal's number; 143: by SIGTERM)

\b
Begin with:
  detent init                  make a project here
  detent run                   work until nothing is left to do
  detent status --watch        follow the progress
  detent items --state error   see what failed
  detent search WORDS          search the knowledge graph
  detent COMMAND --help        show what a command does, with examples""",
)
def program() -> None:
    """Turn sources into a searchable knowledge graph, and never lose your place.

    Every item has a state in a database, and workers move items from state to state. Kill any process at any
    moment: nothing is lost, and for every item you can see where it is and why.

    The database is PostgreSQL: the one that you name, or one that Detent starts by itself in the folder .detent
    of your project.
    """


program.params.extend(global_options())
program.commands = Commands()  # type: ignore[assignment]  # click only reads it


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit. A user's mistake is a sentence, not a stack trace."""
    gc.set_threshold(_SELDOM)  # imported modules are no garbage, and scanning them takes time
    status = _status(arguments)
    gc.freeze()  # no scan on the way out either
    sys.exit(status)


def _status(arguments: list[str] | None) -> int:
    try:
        _prepare_streams()
        status = program.main(arguments, prog_name="detent", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except DetentError as error:
        return _complain(_sentence(error), MISTAKE)
    except (KeyboardInterrupt, click.Abort):
        return _complain("Stopped.", INTERRUPTED)
    except (ReaderGone, BrokenPipeError):
        return _leave_quietly(BROKEN_PIPE)
    except Exception as error:
        if _wants_trace(arguments):
            raise
        return _unforeseen(error)


def _sentence(error: DetentError) -> str:
    """The error's message; where a key was not enough, with the options that say which item is meant."""
    if not isinstance(error, Ambiguous):
        return str(error)
    own = [f"  (its own key is {item.key})" if item.key != error.key else "" for item in error.items]
    lines = [f"  --source {item.source} --label {item.label}{key}" for item, key in zip(error.items, own, strict=True)]
    sentence = f"{error.count} items have the key {error.key!r}. Choose one with these options:"
    return "\n".join([sentence, *lines])


def _prepare_streams() -> None:
    """Escape characters that the streams cannot encode. A closed stderr is replaced; a closed stdout is an error."""
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed (> /dev/null does without it)")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _unforeseen(error: Exception) -> int:
    """Report an unexpected error: a refusal of the machine, or a bug in Detent."""
    if isinstance(error, OSError) and error.errno in _NO_WRITING and error.filename is None:
        return _leave_quietly(_complain(f"The output cannot be written: {error.strerror}.", UNWRITABLE))
    if isinstance(error, FileNotFoundError) and _homeless():
        return _complain("The working directory does not exist any more. Change to another one.", MISTAKE)
    return _complain(_unexpected(error), UNEXPECTED)


def _complain(sentence: str, status: int) -> int:
    from detent.services.keyring import scrubbed

    with contextlib.suppress(OSError):
        click.echo(scrubbed(sentence), err=True)
    return status


def _unexpected(error: Exception) -> str:
    return (
        f"Unexpected error in Detent: {type(error).__name__}: {error}. What was stored is safe. "
        "Run the command again with --trace to see where it happened."
    )


def _wants_trace(arguments: list[str] | None) -> bool:
    given = sys.argv[1:] if arguments is None else arguments
    return "--trace" in given or bool(os.environ.get("DETENT_TRACE"))


def _homeless() -> bool:
    """Tell whether the working directory has been removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _leave_quietly(status: int) -> int:
    """Discard further output: its reader has gone (`detent items | head`), or its disk is full."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(nowhere, sys.stdout.fileno())
    return status

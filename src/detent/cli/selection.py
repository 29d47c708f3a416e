"""The options that select items by what they have in common."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from detent.cli.options import filters
from detent.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])


def item_filters(command: F) -> F:
    """--source, --label, --state, --error-kind, --text, --since and --until."""
    options = (
        click.option("--state", help="Only items in this state; `detent lifecycles` lists the states."),
        click.option("--error-kind", help="Only items with this kind of error, such as timeout or not_found."),
        click.option("--text", help="Only items with this text in their key or error."),
        click.option(
            "--since", metavar="DATE", help="Only items that entered their state on this day or time (UTC) or later."
        ),
        click.option("--until", metavar="DATE", help="Only items that entered their state until this day or time."),
    )
    for option in reversed(options):
        command = option(command)
    return filters(command)


def narrows(narrowed: Mapping[str, Any]) -> bool:
    """Tell whether any of these options is given."""
    return any(value is not None for value in narrowed.values())


def require_choice(keys: Sequence[str], narrowed: Mapping[str, Any], everything: bool) -> None:
    """Require a selection: keys, options, or --all; a missing selection never means all."""
    beside_keys = [name for name, value in narrowed.items() if value is not None and name not in ("source", "label")]
    if keys and (everything or beside_keys):
        raise click.UsageError("Select items by key or by options, not both.")
    if not keys and not everything and not narrows(narrowed):
        raise click.UsageError("Select items by key, by options such as --source or --state, or with --all.")


def command_line(session: Session, command: Sequence[str], options: Mapping[str, Any]) -> str:
    """A command with the options of this one, with passwords hidden. An option without a value is left out."""
    from detent.configuration.masking import masked

    told = {
        "--project": session.project,
        "--database": masked(session.database) if session.database else None,
        **options,
    }
    several = [(name, value if isinstance(value, tuple) else (value,)) for name, value in told.items()]
    words = [word for name, values in several for value in values if value is not None for word in (name, str(value))]
    return shlex.join(["detent", *command, *words])


def option_named(name: str) -> str:
    """The option that gives a parameter: `--error-kind` for `error_kind`."""
    return f"--{name.replace('_', '-')}"

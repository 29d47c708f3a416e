"""The options that every command takes, before or after its name, and those that several share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from detent.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])

_META = "detent.options"


class Command(click.Command):
    """A command that takes the program's options after its name too."""

    def __init__(self, *arguments: Any, **details: Any) -> None:
        super().__init__(*arguments, **details)
        self.params.extend(global_options(hidden=True))


class ReaderGone(Exception):
    """The reader of the output has gone. Not a BrokenPipeError, which click would turn into a success."""


class Group(click.Group):
    """A group whose commands take the program's options."""

    command_class = Command
    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    """--project, --database, --no-color, --trace, and --version on the program itself."""
    options: list[click.Parameter] = [
        click.Option(
            ["--project"],
            type=click.Path(file_okay=False, path_type=Path),
            metavar="FOLDER",
            help="The project's folder. Default: the nearest enclosing folder with .detent or detent.toml.",
            **_kept(hidden),
        ),
        click.Option(
            ["--database"],
            metavar="URL",
            help="The PostgreSQL server to use. Default: the configured one, or Detent's own.",
            **_kept(hidden),
        ),
        click.Option(["--no-color"], is_flag=True, help="Disable colours; NO_COLOR does the same.", **_kept(hidden)),
        click.Option(
            ["--trace"],
            is_flag=True,
            help="Show where an unexpected error happened; DETENT_TRACE=1 does the same.",
            **_kept(hidden),
        ),
    ]
    if not hidden:
        options.append(
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_version,
                help="Show the version.",
            )
        )
    return options


def session_of(ctx: click.Context) -> Session:
    return Session(**ctx.find_root().meta.get(_META, {}))


def with_session(command: F) -> F:
    """Give the command's function the session as its first argument."""

    def called(*arguments: Any, **details: Any) -> Any:
        return command(session_of(click.get_current_context()), *arguments, **details)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def filters(command: F) -> F:
    """--source and --label, for commands that choose items."""
    command = click.option("--label", help="Only items with this label, such as Article or File.")(command)
    return click.option("--source", help="Only items of this source; `detent sources` lists them.")(command)


def as_json(fields: str) -> Callable[[F], F]:
    """--json, with the fields of its document appended to the command's help."""

    def decorate(command: F) -> F:
        explained = "\n".join(f"  {line.strip()}" for line in fields.strip().splitlines())
        command.__doc__ = f"{command.__doc__}\n\n    \b\n    Fields of the JSON document (times are ISO 8601 in UTC):\n"
        command.__doc__ += "\n".join(f"    {line}" for line in explained.splitlines())
        option = click.option("--json", "json_", is_flag=True, help="Print one JSON document instead of tables.")
        return option(command)

    return decorate


def _kept(hidden: bool) -> dict[str, Any]:
    return {"hidden": hidden, "expose_value": False, "callback": _keep}


def _keep(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value and parameter.name:
        ctx.find_root().meta.setdefault(_META, {})[parameter.name] = value


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from detent import __version__

        click.echo(f"detent {__version__}")
        ctx.exit()

"""`detent add`: one command for each installed type of source, made from its registration."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Command, Group, session_of
from detent.errors import UnknownName

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.application.values import Option, SourceType
    from detent.cli.session import Session
    from detent.plugins import PluginBroken


class Types(Mapping[str, click.Command]):
    """The commands by the names of types. Only the registration of the type in use is imported."""

    def __getitem__(self, name: str) -> click.Command:
        from detent.application.adding import find_type
        from detent.plugins import PluginBroken

        try:
            return _command(find_type(name))
        except UnknownName:
            raise KeyError(name) from None
        except PluginBroken as error:
            return _broken(name, error)

    def __iter__(self) -> Iterator[str]:
        from detent.application.adding import type_names

        return iter(type_names())

    def __len__(self) -> int:
        return len(list(iter(self)))


class TypeGroup(Group):
    """`detent add`, whose help lists the types, also those that cannot be imported."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from detent.application.adding import list_types

        with formatter.section("Types"):
            formatter.write_dl([(each.name, each.broken or each.summary) for each in list_types()])


@click.group(cls=TypeGroup, short_help="Add a source: a folder of files, a wiki.", subcommand_metavar="TYPE NAME …")
def add() -> None:
    """Add a source of an installed type, or change the settings of one.

    `detent run` then processes it.

    \b
    Examples:
      detent add files docs ./docs
      detent add wiki ml --seed "Machine learning" --depth 2
      detent add wiki --help
    """


add.commands = Types()  # type: ignore[assignment]  # click only reads it


def _broken(name: str, error: PluginBroken) -> click.Command:
    """The command of a type that cannot be imported; it reports this for any arguments."""

    def called(**_: Any) -> None:
        raise error

    anything = click.Argument(["given"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    return Command(name, callback=called, params=[anything], help=str(error), context_settings=settings)


def _command(found: SourceType) -> click.Command:
    """The command that adds a source of this type."""

    def called(name: str, **given: Any) -> None:
        session = session_of(click.get_current_context())
        said = {key: value for key, value in given.items() if value not in (None, ()) and value is not False}
        session.with_new_store(lambda opened: _add(session, opened, name, found.name, said))

    public = [option for option in found.options if not option.secret]
    parameters = [click.Argument(["name"]), *(_parameter(option) for option in public)]
    return Command(found.name, callback=called, params=parameters, help=_help(found), short_help=found.summary)


async def _add(session: Session, opened: Connected, name: str, type_: str, given: Mapping[str, Any]) -> None:
    from detent.application.adding import AddVerbs
    from detent.cli.drawing import plain

    def tell(words: str) -> None:
        session.err.print(plain(words), soft_wrap=True)

    answers = session.err.is_terminal and sys.stdin.isatty()
    ask = (lambda question: str(click.prompt(question))) if answers else None
    added = await AddVerbs(opened).add_source(name, type_, tell=tell, ask=ask, **given)
    for note in added.notes:
        session.say(note)
    session.say(added.told)


def _parameter(option: Option) -> click.Parameter:
    if option.positional:
        return click.Argument([option.name], type=_type(option), required=option.required, metavar=option.metavar)
    names = [*(option.flags or [option.flag]), option.name]
    if option.type is bool:
        return click.Option(names, is_flag=True, help=option.help)
    shown = "" if option.default is None or option.repeatable else f"  [default: {option.default}]"
    return click.Option(
        names, type=_type(option), multiple=option.repeatable, metavar=option.metavar, help=f"{option.help}{shown}"
    )


def _type(option: Option) -> Any:
    if option.choices:
        return click.Choice(option.choices)
    if option.type is Path:
        folder, file = option.exists in ("folder", "any", None), option.exists in ("file", "any", None)
        return click.Path(exists=option.exists is not None, file_okay=file, dir_okay=folder, path_type=Path)
    bound = option.at_least if option.above is None else option.above
    if option.type is int and bound is not None:
        return click.IntRange(min=int(bound), min_open=option.above is not None)
    if option.type is float and bound is not None:
        return click.FloatRange(min=bound, min_open=option.above is not None)
    return option.type


def _help(found: SourceType) -> str:
    """The command's help, with the secrets that it does not take as options."""
    parts = [found.description or f"{found.summary}"]
    if found.examples:
        parts.append("\n    ".join(["\b", "Examples:", *(f"  {example}" for example in found.examples)]))
    secrets = [f"  {option.name}: {option.help}" for option in found.options if option.secret]
    if secrets:
        where = "Secrets, read from DETENT_SECRET_NAME_… or .detent/secrets.toml (see docs/plugins.md):"
        parts.append("\n    ".join(["\b", where, *secrets]))
    return inspect.cleandoc("\n\n    ".join(parts))

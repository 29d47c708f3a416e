"""`detent search`, `similar` and `suggest`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from detent.cli.options import Command, as_json, filters, with_session
from detent.cli.output import document
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application import AsyncDetent
    from detent.application.values import Answer, Suggestion

F = TypeVar("F", bound=Callable[..., Any])

MODES = ("hybrid", "text", "semantic", "graph")
_DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])([T ][0-9].*)?)?)?")
_HIT_FIELDS = """
    hits        a list, best first, of: item_id, source, label, key, title, snippet, score, parts (what the score is
    made of), link (or null), passage and passage_title (null unless the best passage of several), properties,
    stale (whether a newer version failed), place (where in a file it stands, or null)
    notes       a list of sentences: what could not answer, what is not indexed yet, what was not heeded
"""


class _Words(Command):
    """A command that is given words, of which some may look like options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = f"Words that begin with a minus come after two of them: detent {self.name} -- cat -dog"
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None


def _weights(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        first, second = map(float, value.split(","))
    except ValueError:
        first = second = math.nan
    if not (first >= 0 and second >= 0 and math.isfinite(first + second)):
        raise click.BadParameter(f"{value!r} is not two numbers with a comma between, such as 0.7,0.3.")
    return first, second


def _date(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _DATE.fullmatch(value):
        raise click.BadParameter(
            f"{value!r} is no date. Write a year, a month or a day, such as 2020, 2020-05 or 2020-05-17; "
            "a time may follow the day, as in 2020-05-17T14:30."
        )
    return value


def properties(_: click.Context, __: click.Parameter, pairs: Sequence[str]) -> dict[str, Any]:
    """What `--property NAME=VALUE` asks for, names with dots nested."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        *outer, last = name.split(".")
        if not sign or not last or not all(outer):
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE.")
        inner = found
        for part in outer:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise click.BadParameter(f"{name!r} lies inside of something that another one says is a value.")
        if last in inner:
            raise click.BadParameter(f"{name!r} is given twice.")
        inner[last] = _value(value)
    return found


def _value(text: str) -> Any:
    """JSON if it is JSON, else the text itself."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _filtered(command: F) -> F:
    """The options that say what is searched."""
    options = (
        click.option("--source", "sources", multiple=True, metavar="SOURCE", help="Only this source. Repeatable."),
        click.option("--label", "labels", multiple=True, metavar="LABEL", help="Only this label. Repeatable."),
        click.option("--category", "categories", multiple=True, metavar="KEY", help="Only of this category."),
        click.option(
            "--property",
            "properties",
            multiple=True,
            metavar="NAME=VALUE",
            callback=properties,
            help="Only with this property; VALUE is JSON or else text, dots in NAME lead inside. Repeatable.",
        ),
        click.option(
            "--since",
            metavar="DATE",
            callback=_date,
            help="Only with a date not before this: 2024, 2024-05, 2024-05-17.",
        ),
        click.option("--until", metavar="DATE", callback=_date, help="Only with a date not after this."),
        click.option("--path", "prefix", metavar="START", help="Only keys that begin so: a folder, as in docs/."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _shown(command: F) -> F:
    """The options that say how much is shown."""
    options = (
        click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many results."),
        click.option("--passages", is_flag=True, help="Each passage for itself, not the best of each article or file."),
        click.option("--scores", is_flag=True, help="Show each result's score, and what it is made of."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(cls=_Words, short_help="Find what has these words, or means the same.")
@click.argument("words", nargs=-1, required=True, metavar="TEXT...")
@click.option("--mode", type=click.Choice(MODES), help="How to search; hybrid if nothing is said.")
@_shown
@_filtered
@click.option("--around", multiple=True, metavar="KEY", help="Search near this node (mode graph). Repeatable.")
@click.option(
    "--weights",
    metavar="A,B",
    callback=_weights,
    help="With --around: how much similarity counts, and how much nearness; 0.7,0.3 if nothing is said.",
)
@with_session
@as_json(_HIT_FIELDS)
def search(
    session: Session,
    *,
    words: Sequence[str],
    mode: str | None,
    limit: int,
    passages: bool,
    scores: bool,
    around: Sequence[str],
    weights: tuple[float, float] | None,
    json_: bool,
    **narrowed: Any,
) -> None:
    """Find what has the words of TEXT, or means the same. Quotes are not needed around several words.

    \b
    hybrid    words and meaning together
    text      words; those that are rare and often in a text count most
    semantic  meaning, whatever the words
    graph     meaning and nearness to the nodes named by --around; chosen where that is given

    A phrase in double quotes must occur; the shell takes quotes away, so put single ones around it. Of phrases
    joined by `or`, one must occur. A word or a phrase after a minus must not occur: such words come after --.

    \b
    Examples:
      detent search steam engine
      detent search '"steam engine" or "steam turbine" boiler'
      detent search --label Article --since 2020 --property place.country=FR -- gardens -roses
      detent search flowers --around "Botanical garden" --weights 0.5,0.5
    """
    _require_mode(mode, around, weights)
    _require_span(narrowed["since"], narrowed["until"])

    async def found(db: AsyncDetent) -> tuple[Answer, str]:
        from detent.application.searching import WEIGHTS
        from detent.knowledge import Filters

        chosen = Filters(**narrowed)
        answer = await db.search(
            " ".join(words),
            mode=mode,
            limit=limit,
            filters=chosen,
            grouped=not passages,
            around=around,
            weights=weights or WEIGHTS,
            marks=_marks(session, json_),
        )
        used = mode or ("graph" if around else "hybrid")
        return answer, "" if answer.hits or json_ else await db.explain_nothing(mode=used, filters=chosen)

    _present(session, *session.with_db(found), scores=scores, json_=json_)


@click.command(cls=Command, short_help="Find what is like a node.")
@click.argument("key")
@filters
@click.option("--only-source", "sources", multiple=True, metavar="SOURCE", help="Only results of this source.")
@click.option("--only-label", "labels", multiple=True, metavar="LABEL", help="Only results with this label.")
@_shown
@with_session
@as_json(_HIT_FIELDS)
def similar(
    session: Session,
    *,
    key: str,
    source: str | None,
    label: str | None,
    sources: Sequence[str],
    labels: Sequence[str],
    limit: int,
    passages: bool,
    scores: bool,
    json_: bool,
) -> None:
    """Find what is nearest in meaning to the node KEY: an article or a file, or a passage of one.

    Where several have the same key, --source and --label say which is meant.

    \b
    Examples:
      detent similar "Alan Turing"
      detent similar README.md --source docs --only-label Article --limit 5
    """

    async def found(db: AsyncDetent) -> Answer:
        from detent.knowledge import Filters

        chosen = Filters(sources=sources, labels=labels)
        return await db.similar(key, source=source, label=label, limit=limit, filters=chosen, grouped=not passages)

    answer = session.with_db(found)
    _present(session, answer, f"Nothing is found that is like {key!r}.", scores=scores, json_=json_)


@click.command(cls=Command, short_help="Complete the beginning of a title.")
@click.argument("words", nargs=-1, required=True, metavar="PREFIX...")
@click.option("--source", "sources", multiple=True, metavar="SOURCE", help="Only this source. Repeatable.")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Only this label. Repeatable.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many titles.")
@with_session
@as_json("""
    suggestions a list of: title, key, source, label
""")
def suggest(
    session: Session, *, words: Sequence[str], sources: Sequence[str], labels: Sequence[str], limit: int, json_: bool
) -> None:
    """List nodes whose titles begin with PREFIX, whatever the case; those that belong to no other come first.

    \b
    Examples:
      detent suggest steam en
      detent suggest al --label Article --json
    """

    async def found(db: AsyncDetent) -> list[Suggestion]:
        from detent.knowledge import Filters

        return await db.suggest(" ".join(words), limit=limit, filters=Filters(sources=sources, labels=labels))

    titles = session.with_db(found)
    if json_:
        document({"suggestions": [each.as_data() for each in titles]})
    elif titles:
        _list(session, titles)
    else:
        session.say("No title begins so.")


def _require_mode(mode: str | None, around: Sequence[str], weights: object) -> None:
    if around and mode not in (None, "graph"):
        raise click.UsageError(f"--around searches the graph, and --mode {mode} does not. Leave one of them out.")
    if mode == "graph" and not around:
        raise click.UsageError("--mode graph searches around nodes: name them with --around KEY.")
    if weights is not None and not around:
        raise click.UsageError("--weights says how much nearness to nodes counts: name the nodes with --around KEY.")


def _require_span(since: str | None, until: str | None) -> None:
    """Dates are compared as text, and the end includes all that begins with it."""
    if since is not None and until is not None and since > until and not since.startswith(until):
        raise click.UsageError(f"Nothing can be since {since} and until {until}: the first is later than the second.")


def _marks(session: Session, json_: bool) -> tuple[str, str]:
    """What stands around a match, for the highlighting to find; nothing where nobody looks at it."""
    from detent.cli.results import MARKS

    return ("", "") if json_ or not session.out.is_terminal else MARKS


def _present(session: Session, answer: Answer, nothing: str, *, scores: bool, json_: bool) -> None:
    """Show an answer to a person, with what is to be said if it is empty; or write it for a program."""
    from detent.cli.results import show

    if json_:
        document(answer.as_data())
    else:
        show(session, answer, nothing, scores=scores)


def _list(session: Session, titles: Sequence[Suggestion]) -> None:
    from detent.cli.drawing import plain, table

    shown = table("Title", "Source", "Label", "Key", wide=["Title", "Key"])
    for each in titles:
        shown.add_row(plain(each.title), plain(each.source), plain(each.label), plain(each.key))
    session.out.print(shown)

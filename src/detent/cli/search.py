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
    stale (true if a newer version failed), place (its position in a file, or null)
    notes       a list of sentences: searches that failed, items not indexed yet, input that was ignored
"""


class _Words(Command):
    """A command whose arguments are words, some of which may look like options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = f"Put words that begin with a minus after `--`: detent {self.name} -- cat -dog"
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None


def _weights(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        first, second = map(float, value.split(","))
    except ValueError:
        first = second = math.nan
    if not (first >= 0 and second >= 0 and math.isfinite(first + second)):
        raise click.BadParameter(f"{value!r} is not two numbers separated by a comma, such as 0.7,0.3.")
    return first, second


def _date(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _DATE.fullmatch(value):
        raise click.BadParameter(
            f"{value!r} is no date. Write a year, a month or a day, such as 2020, 2020-05 or 2020-05-17; "
            "a time may follow the day, as in 2020-05-17T14:30."
        )
    return value


def properties(_: click.Context, __: click.Parameter, pairs: Sequence[str]) -> dict[str, Any]:
    """Parse `--property NAME=VALUE` into nested properties; dots separate the names."""
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
                raise click.BadParameter(f"{name!r} is inside a property that has a value of its own.")
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
    """The options that filter the results."""
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
            help="Only with this property; VALUE is JSON or else text, dots in NAME nest. Repeatable.",
        ),
        click.option(
            "--since",
            metavar="DATE",
            callback=_date,
            help="Only with this date or later: 2024, 2024-05, 2024-05-17.",
        ),
        click.option("--until", metavar="DATE", callback=_date, help="Only with this date or earlier."),
        click.option("--path", "prefix", metavar="START", help="Only keys with this prefix, such as docs/."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _shown(command: F) -> F:
    """The options for the number and form of results."""
    options = (
        click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Number of results."),
        click.option("--passages", is_flag=True, help="Show every passage, not only the best of each article or file."),
        click.option("--scores", is_flag=True, help="Show each result's score and its parts."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(cls=_Words, short_help="Search by words and meaning.")
@click.argument("words", nargs=-1, required=True, metavar="TEXT...")
@click.option("--mode", type=click.Choice(MODES), help="Search mode. Default: hybrid; with --around: graph.")
@_shown
@_filtered
@click.option("--around", multiple=True, metavar="KEY", help="Search near this node (mode graph). Repeatable.")
@click.option(
    "--weights",
    metavar="A,B",
    callback=_weights,
    help="With --around: the weights of similarity and of nearness. Default: 0.7,0.3.",
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
    """Search for TEXT by its words and its meaning. Several words need no quotes.

    \b
    hybrid    words and meaning together
    text      words; rare words and frequent ones in a text count most
    semantic  meaning, whatever the words
    graph     meaning and nearness to the nodes given with --around; the default with --around

    A phrase in double quotes must occur; protect it from the shell with single quotes. Of phrases joined by `or`,
    one must occur. A word or a phrase after a minus must not occur: put such words after --.

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


@click.command(cls=Command, short_help="Find nodes similar to a node.")
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
    """Find the nodes nearest in meaning to the node KEY: an article or a file, or a passage of one.

    If several nodes have the same key, select one with --source and --label.

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
    _present(session, answer, f"Nothing similar to {key!r} was found.", scores=scores, json_=json_)


@click.command(cls=Command, short_help="Complete the beginning of a title.")
@click.argument("words", nargs=-1, required=True, metavar="PREFIX...")
@click.option("--source", "sources", multiple=True, metavar="SOURCE", help="Only this source. Repeatable.")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Only this label. Repeatable.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Number of titles.")
@with_session
@as_json("""
    suggestions a list of: title, key, source, label
""")
def suggest(
    session: Session, *, words: Sequence[str], sources: Sequence[str], labels: Sequence[str], limit: int, json_: bool
) -> None:
    """List nodes whose titles begin with PREFIX, in any case; top-level nodes first.

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
        session.say("No title begins with this.")


def _require_mode(mode: str | None, around: Sequence[str], weights: object) -> None:
    if around and mode not in (None, "graph"):
        raise click.UsageError(f"--around searches the graph, but --mode {mode} does not. Remove one of them.")
    if mode == "graph" and not around:
        raise click.UsageError("--mode graph needs a node: add --around KEY.")
    if weights is not None and not around:
        raise click.UsageError("--weights needs a node: add --around KEY.")


def _require_span(since: str | None, until: str | None) -> None:
    """Require --since not to be after --until. Dates compare as text; the end includes all times in it."""
    if since is not None and until is not None and since > until and not since.startswith(until):
        raise click.UsageError(f"--since {since} is later than --until {until}.")


def _marks(session: Session, json_: bool) -> tuple[str, str]:
    """The marks around a match for the highlighting; empty unless the output is a terminal."""
    from detent.cli.results import MARKS

    return ("", "") if json_ or not session.out.is_terminal else MARKS


def _present(session: Session, answer: Answer, nothing: str, *, scores: bool, json_: bool) -> None:
    """Show an answer, or the sentence `nothing` if it is empty; or print it as JSON."""
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

"""Results of a search as they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from detent.cli.session import Session

if TYPE_CHECKING:
    from rich.text import Text

    from detent.application.values import Answer, Hit

MARKS = ("\ufdd0", "\ufdd1")
"""Marks around a match until it is drawn: code points that are not characters."""

_MATCH = re.compile(f"{MARKS[0]}([^{MARKS[1]}]*){MARKS[1]}")


def show(session: Session, answer: Answer, nothing: str, *, scores: bool) -> None:
    """Show the hits, or the sentence that there are none, then the notes."""
    from detent.cli.drawing import plain

    for rank, hit in enumerate(answer.hits, start=1):
        if rank > 1:
            session.out.print()
        _show(session, rank, hit, scores)
    if not answer.hits:
        session.say(nothing)
    for note in answer.notes:
        session.err.print(plain(f"Note: {note}", style="yellow"), soft_wrap=True)


def _show(session: Session, rank: int, hit: Hit, scores: bool) -> None:
    from rich.padding import Padding

    session.out.print(_heading(rank, hit), soft_wrap=True)
    for line in _lines(hit, scores):
        session.out.print(Padding(line, (0, 0, 0, 4), expand=False))


def _heading(rank: int, hit: Hit) -> Text:
    from detent.cli.drawing import plain

    heading = plain(f"{rank:>2}. ")
    heading.append_text(plain(hit.title or hit.key, style="bold"))
    if hit.title and hit.key != hit.title:
        heading.append_text(plain(f"  {hit.key}"))
    return heading.append_text(plain(f"  {hit.source}/{hit.label}", style="dim"))


def _lines(hit: Hit, scores: bool) -> Iterator[Text]:
    from detent.cli.drawing import plain

    if hit.passage_title and hit.passage_title != hit.title:
        yield plain(hit.passage_title, style="italic")
    if hit.snippet:
        yield _highlighted(hit.snippet)
    if where := hit.link or hit.place:
        yield plain(where, style="blue")
    if hit.stale:
        yield plain("the last readable version; a newer one failed", style="red")
    if scores:
        parts = ", ".join(f"{name} {score:.3g}" for name, score in hit.parts.items())
        yield plain(f"score {hit.score:.4f} ({parts})", style="dim")


def _highlighted(snippet: str) -> Text:
    from detent.cli.drawing import plain

    shown = plain("")
    for place, piece in enumerate(_MATCH.split(snippet)):
        shown.append_text(plain(piece, style="bold yellow" if place % 2 else ""))
    return shown

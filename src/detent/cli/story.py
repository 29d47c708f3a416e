"""`detent show KEY`: one item in full, with its history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Command, as_json, filters, with_session
from detent.cli.output import ago, document, duration, moment
from detent.cli.session import Session
from detent.errors import DetentError

if TYPE_CHECKING:
    from rich.text import Text

    from detent.application.values import Entry, Listed, Story

_LONGEST = 400
"""Characters of a checkpoint that are shown."""


@click.command(cls=Command, short_help="Show one item in full, with its history.")
@click.argument("key")
@filters
@with_session
@as_json("""
    item        id, source, label, key, state, since, attempt, priority, content_hash, added_at, not_before,
    error_kind, trouble, error
    lifecycle   its name
    changed     true if the content changed while a worker holds the item
    title       the title of its node, or null
    properties  the properties of its node, or null
    alias_of    the key of the redirect's target, if it is a redirect, or null
    embedding   null, or: provider, model, content_hash, hash (of the text that was embedded)
    error_at    the time of the failure, or null
    lease       null, or: owner, deadline, token
    checkpoint  null, or the checkpoint that its handler saved
    reached     the last time that it entered each state
    history     a list of: at, from_state, to_state, attempt, token, took (seconds), owner, reason
    texts       null, or with --text a list of: title, text
""")
@click.option("--text", is_flag=True, help="Print the text with its sections instead of the history.")
def show(session: Session, key: str, *, source: str | None, label: str | None, json_: bool, text: bool) -> None:
    """Show the item KEY: its state and the reason, and every move that it made.

    \b
    Examples:
      detent show "Alan Turing"
      detent show README.md --source docs --label File
      detent show README.md --json
      detent show Owl --text
    """

    story = session.with_db(lambda db: db.show(key, source=source, label=label, texts=text))
    if json_:
        document(story.as_data())
    elif text:
        _read_out(session, story)
    else:
        _tell(session, story)


def _read_out(session: Session, story: Story) -> None:
    """Print each text under its title; continue a text without repeating the title."""
    from detent.cli.drawing import plain

    if not story.texts:
        leads = f"It is a redirect to {story.alias_of}." if story.alias_of is not None else "It has no text."
        raise DetentError(f"{story.item.source}/{story.item.label}/{story.item.key}: {leads}")
    before = None
    for each in story.texts:
        if each.title != before:
            session.out.print(plain(each.title, style="bold"), soft_wrap=True)
        for line in each.text.split("\n"):
            session.out.print(plain(line), soft_wrap=True)
        session.out.print()
        before = each.title


def _tell(session: Session, story: Story) -> None:
    from detent.cli.drawing import table

    about = table("", "", wide=[""])
    about.show_header = False
    for name, value in _about(story):
        about.add_row(name, value)
    session.out.print(about)
    session.out.print()
    arrow = "->" if session.out.options.ascii_only else "→"
    for line in _moves(story.history, arrow) if story.history else [_without_moves(story)]:
        session.out.print(line, soft_wrap=True)


def _without_moves(story: Story) -> str:
    if story.item.since > story.item.added_at:
        return "Its moves are no longer in the journal: `detent db prune` dropped them."
    if story.item.state == "skip":
        return "It has no text, so there is nothing to do."
    return "It has not moved yet."


def _about(story: Story) -> list[tuple[str, Any]]:
    from detent.cli.drawing import plain
    from detent.cli.standing import STYLES

    item = story.item
    lines = [
        ("Item", plain(f"{item.source}/{item.label}/{item.key}", style="bold")),
        ("Title", story.title),
        *(("Problem", str(problem)) for problem in _problems(story)),
        ("Redirect to", story.alias_of),
        ("State", f"{item.state}, since {moment(item.since)} ({ago(item.since)}); lifecycle {story.lifecycle}"),
        ("Added", moment(item.added_at)),
        ("Attempt", str(item.attempt) if item.attempt else None),
        ("Priority", str(item.priority)),
        ("Content hash", item.content_hash),
        ("Embedded", _embedded(story)),
        ("Waits until", _until(item)),
        ("Held by", f"{story.owner}, until {moment(story.deadline)}" if story.owner and story.deadline else None),
        ("Changed", "yes, while a worker held it; it will be processed again" if story.changed else None),
        ("Checkpoint", _shortened(story.checkpoint) if story.checkpoint is not None else None),
    ]
    if item.error_kind:
        when = f" at {moment(story.error_at)}" if story.error_at else ""
        lines.append(("Error", plain(f"{item.error_kind}{when}: {item.error}", style=STYLES["failed"])))
    return [(name, plain(value) if isinstance(value, str) else value) for name, value in lines if value is not None]


def _until(item: Listed) -> str | None:
    if item.held_back:
        return "the source's limit allows it"
    return moment(item.not_before) if item.not_before else None


def _problems(story: Story) -> Sequence[object]:
    """The problems that its source reported: parts that could not be read, unlike the rest."""
    told = (story.properties or {}).get("problems")
    return told if isinstance(told, list) else []


def _shortened(checkpoint: Mapping[str, Any]) -> str:
    written = json.dumps(checkpoint, ensure_ascii=False)
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]} … ({len(written):,} characters; --json)"


def _embedded(story: Story) -> str | None:
    made = story.embedding
    if made is None:
        return None
    by = " ".join(name for name in (made.provider, made.model) if name)
    return f"by {by or 'a handler of yours'}; hash of the text {made.hash or made.content_hash or 'unknown'}"


def _moves(history: list[Entry], arrow: str) -> Iterator[Text]:
    """A line per move: `2025-11-15 09:30:05  pending → in_progress  attempt 1, by vm:4711: why`."""
    from detent.cli.drawing import plain

    moves = [f"{entry.from_state} {arrow} {entry.to_state}" for entry in history]
    width = max(map(len, moves))
    for entry, move in zip(history, moves, strict=True):
        took = f", took {duration(entry.took)}" if entry.took is not None else ""
        by = entry.owner if entry.owner.startswith("by ") else f"by {entry.owner}"
        why = f": {entry.reason}" if entry.reason else ""
        yield plain(f"{moment(entry.at)}  {move:{width}}  attempt {entry.attempt}{took}, {by}{why}")

"""The last line of a run, and its exit status. They account for every item of the run's sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.cli.news import waiting, why
from detent.cli.output import counted, number

if TYPE_CHECKING:
    from detent.application.running.report import Left, Report

ALL_DONE, SOME_FAILED, SOME_LEFT = 0, 1, 3


def status(report: Report) -> int:
    """The exit status of a run that was not stopped."""
    if report.failed or report.failures:
        return SOME_FAILED
    return ALL_DONE if report.complete else SOME_LEFT


def sentence(report: Report, lease_seconds: float) -> str:
    """The last line."""
    if report.away:
        return (
            "Stopped while the database does not answer. Nothing is lost: items in progress are released "
            f"{lease_seconds:g} s after its last renewal."
        )
    return _stopped(report) if report.stopped else _finished(report)


def _stopped(report: Report) -> str:
    done, total = report.finished, report.total
    left = total - done - report.failed
    parts = [f"{number(done)} of {counted(total, 'item')} {_are(done)} done", f"{number(left)} left"]
    if report.failed:
        parts.append(f"{number(report.failed)} failed")
    return f"Stopped: {', '.join(parts)}. Nothing is lost: the next run continues from here."


def _finished(report: Report) -> str:
    sentences = [_failures(report)] if report.failed else []
    if report.later and report.first_due:
        sentences.append(f"{waiting(report.later, report.first_due)}: `detent run` retries them then")
        sentences += [why(report.reasons)] * bool(report.reasons)
    sentences += [each for left in report.left for each in _neglected(left)]
    others = [left for left in report.left if left.elsewhere]
    if not sentences and report.rest:
        sentences.append(
            f"{number(report.rest)} of {counted(report.total, 'item')} {_are(report.rest)} left: "
            "`detent run` continues with them"
        )
    if others and not sentences:
        sentences.append(_all_done(report.total, " of this run's sources"))
    sentences += [
        f"{counted(left.elsewhere, 'item')} of {left.source}/{left.label} left, "
        "whose source is not in this run's modules"
        for left in others
    ]
    beyond = f"{counted(report.held_back, 'more item')} {_are(report.held_back)} beyond the source's limit"
    if sentences:
        return ". ".join([*sentences, *[beyond] * bool(report.held_back)])
    return f"{_all_done(report.total - report.held_back)}{f'; {beyond}' if report.held_back else ''}."


def _all_done(total: int, whose: str = "") -> str:
    if not total:
        return "Nothing to do: the sources have no items"
    return f"The one item{whose} is done" if total == 1 else f"All {number(total)} items{whose} are done"


def _failures(report: Report) -> str:
    """`3 of 1,003 items failed: detent items --state failed`."""
    commands = ", ".join(f"detent items --state {state}" for state in report.failed_states)
    return f"{number(report.failed)} of {counted(report.total, 'item')} failed: {commands}"


def _neglected(left: Left) -> list[str]:
    """The items left of a source's label, and the reason why no worker serves them."""
    kind, found = f"{left.source}/{left.label}", []
    if left.paused:
        found.append(
            f"{counted(left.paused, 'item')} of {kind} left; the source is paused: detent resume {left.source}"
        )
    if left.unserved:
        places = ", ".join(f"{number(count)} in {state}" for state, count in left.unserved.items())
        count = counted(sum(left.unserved.values()), "item")
        found.append(f"{count} of {kind} left, for which no handler is declared: {places}")
    if left.stopped:
        found.append(f"{counted(left.stopped, 'item')} of {kind} stopped by hand")
    return found


def _are(count: int) -> str:
    return "is" if count == 1 else "are"

"""Asking the sources what there is, and what has changed, before a crew begins and beside it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from detent.application.discovery import Discovery, discover
from detent.application.refreshing import refresh
from detent.cli.output import counted
from detent.cli.shift import LATER_SECONDS, told_of
from detent.errors import DatabaseAway, DetentError, DiscoveryFailed

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.cli.display import Display
    from detent.sources import Source

T = TypeVar("T")

_AGAIN_SECONDS = 10.0


async def discover_all(opened: Connected, sources: Sequence[Source], shown: Display) -> Sequence[DiscoveryFailed]:
    """Let the sources say what items there are; returns what went wrong with some of them.

    It may take long: a signal ends it, and what was found is kept.
    """
    found = 0

    def tell(count: int) -> None:
        nonlocal found
        found = count
        shown.found(count)

    try:
        discovered = await _terminable(discover(opened.store, sources, tell))
    except (asyncio.CancelledError, SystemExit) as stopped:
        if not found:
            raise
        shown.say(f"Stopped. What was found so far is kept: {counted(found, 'item')}.")
        raise stopped if isinstance(stopped, SystemExit) else SystemExit(128 + signal.SIGINT) from None
    shown.note(None)
    if told := _told(discovered):
        shown.say(told)
    for failure in discovered.failures:
        shown.say(f"{failure} What is known is worked on.")
    return discovered.failures


async def refresh_all(opened: Connected, sources: Sequence[Source], shown: Display) -> Sequence[DiscoveryFailed]:
    """Ask the sources what has changed of what was done or failed; returns what went wrong with some of them."""
    telling = asyncio.create_task(_tell_who_is_left_alone(opened, shown))
    try:
        refreshed = await _terminable(
            refresh(opened.store, sources, lambda count: shown.note(f"{counted(count, 'item')} looked at"))
        )
    finally:
        telling.cancel()
    shown.note(None)
    if refreshed.changed:
        shown.say(f"{counted(refreshed.changed, 'item')} changed.")
    if refreshed.again:
        shown.say(f"{counted(refreshed.again, 'item')} that failed for a passing reason to be tried again.")
    for failure in refreshed.failures:
        shown.say(f"{failure} What is known is worked on.")
    return refreshed.failures


async def _tell_who_is_left_alone(opened: Connected, shown: Display) -> None:
    """Say what is waited for, again and again."""
    while True:
        await asyncio.sleep(LATER_SECONDS)
        with contextlib.suppress(DatabaseAway):
            if (told := told_of(await opened.store.pacing.held())) is not None:
                shown.note(told)


async def _keep_up_with(opened: Connected, source: Source, shown: Display) -> None:
    """Discover again whenever a source tells of changes, until it cannot be watched any more."""
    if source.watch is None:
        return
    try:
        async for _ in source.watch():
            await _discover_again(opened, source, shown)
    except OSError as error:
        shown.say(f"{source.name} is no longer watched: {error.strerror or error}.")


async def _discover_again(opened: Connected, source: Source, shown: Display) -> None:
    """What fails now is tried again after a while."""
    while True:
        try:
            discovered = await discover(opened.store, [source])
            break
        except DetentError as error:
            shown.say(str(error))
            await asyncio.sleep(_AGAIN_SECONDS)
    for told in [_told(discovered), *map(str, discovered.failures)]:
        if told:
            shown.say(told)


async def keep_up(opened: Connected, sources: Sequence[Source], shown: Display) -> None:
    await asyncio.gather(*(_keep_up_with(opened, source, shown) for source in sources))


def _told(discovered: Discovery) -> str:
    """What came of discovery: `The sources named 3 new items and 1 changed item; 2 items are gone.`; "" if nothing."""
    new, changed = counted(discovered.added, "new item"), counted(discovered.changed, "changed item")
    gone = f"{counted(discovered.removed, 'item')} {'is' if discovered.removed == 1 else 'are'} gone"
    named = " and ".join([new] * bool(discovered.added) + [changed] * bool(discovered.changed))
    if not named:
        return f"{gone}." if discovered.removed else ""
    return f"The sources named {named}{f'; {gone}' if discovered.removed else ''}."


async def _terminable(work: Coroutine[Any, Any, T]) -> T:
    """SIGTERM ends the program as Ctrl-C does: what is going on is cancelled and may finish. A second one ends it at
    once."""
    loop, working = asyncio.get_running_loop(), asyncio.ensure_future(work)
    terminated = False

    def terminate() -> None:
        nonlocal terminated
        if terminated:
            raise SystemExit(128 + signal.SIGTERM)
        terminated = True
        working.cancel()

    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await working
    except asyncio.CancelledError:
        if terminated:
            raise SystemExit(128 + signal.SIGTERM) from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

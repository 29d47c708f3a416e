"""The sources that are configured in the database, beside those that modules declare."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from detent.configuration import Project
from detent.errors import InvalidSource
from detent.services.keyring import Keyring
from detent.sources import Source
from detent.sources.types import make
from detent.store import Store
from detent.store.ledger.sources import IMPORTED
from detent.worker.duty import embeddable
from detent.worker.patience import patiently


async def all_sources(
    store: Store, declared: Sequence[Source], *, unless: asyncio.Event, project: Project | None = None
) -> list[Source]:
    """All that a worker process works on. It waits for a database that is away, `unless` it is to stop."""

    async def read() -> list[Source]:
        return await with_imported(store, await with_configured(store, declared, project))

    return await patiently(read, unless=unless)


async def with_configured(store: Store, declared: Sequence[Source], project: Project | None = None) -> list[Source]:
    """The sources that are declared, and those that were added. Their secrets are the project's."""
    known, keyring = await store.sources.configured(), Keyring(project.folder if project else None)
    configured = [make(each.name, each.type, each.settings, keyring) for each in known if each.type != IMPORTED]
    names = {source.name for source in declared}
    for source in configured:
        if source.name in names:
            raise InvalidSource(
                f"The source {source.name!r} is declared in a module, and was added by `detent add` too. "
                f"Give one of them another name, or remove it: detent remove {source.name}"
            )
    return [*declared, *configured]


async def with_imported(store: Store, sources: Sequence[Source]) -> list[Source]:
    """These sources, and those that were imported, to be embedded. Without any, whatever can be embedded."""
    others = await embeddable(store)
    if sources:
        imported = {each.name for each in await store.sources.configured() if each.type == IMPORTED}
        others = [each for each in others if each.name in imported - {source.name for source in sources}]
    return [*sources, *others]

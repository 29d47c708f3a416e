"""A duty: one stage of one handler, with all the kinds of items that it serves and its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from detent.configuration import Configuration, StageSettings
from detent.lifecycle import Lifecycle, RetryPolicy
from detent.sources import Handler, Source
from detent.sources.source import waiting_state
from detent.store import Kind, Stage, Store
from detent.store.vectors.embeddings import STAGE
from detent.worker.embedder import Embedder

_BATCHES_AT_ONCE = 2
"""Number of batches of passages that one process embeds concurrently: one is computed while another is written."""


@dataclass(frozen=True, eq=False)
class Duty:
    stage: Stage
    handler: Handler
    kinds: tuple[Kind, ...]
    batch_size: int
    concurrency: int
    time_limit_seconds: float
    policy: RetryPolicy

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of a duty that embeds, or None."""
        return self.handler.function if isinstance(self.handler.function, Embedder) else None

    @property
    def superseded(self) -> bool:
        """True if the duty is left to other workers, which embed with another model."""
        return self.embedder is not None and self.embedder.superseded


async def declare(store: Store, sources: Sequence[Source]) -> dict[tuple[str, str], Kind]:
    """Make sure that the kinds of these sources exist with their bounds and versions, and that their texts are taken to
    be in their languages."""
    await store.kinds.refresh()
    named = [(source.name, label, lifecycle) for source in sources for label, lifecycle in source.lifecycles.items()]
    kinds = {name[:2]: store.kinds.declared(*name) or await store.declare(*name) for name in named}
    for source in sources:
        if source.language is not None:
            await store.sources.set_language(source.name, source.language)
        for label, bounds in source.bounds.items():
            if kinds[source.name, label].bounds != bounds:
                await store.bounds.set(kinds[source.name, label], bounds)
                kinds[source.name, label] = await store.kinds.get(source.name, label)
        for label, version in source.versions.items():
            if kinds[source.name, label].version != version:
                await store.bounds.set_version(kinds[source.name, label], version)
                kinds[source.name, label] = await store.kinds.get(source.name, label)
    return kinds


async def embeddable(store: Store) -> list[Source]:
    """Sources as the database knows them, with the labels whose items can be embedded: what a worker can do where no
    module declares a source, as for a graph that was imported. It does not depend on what waits at this moment, so
    that all processes of a crew find the same."""
    found: dict[str, dict[str, Lifecycle]] = {}
    for kind in await store.kinds.select():
        if waiting_state(kind.lifecycle, STAGE) is not None:
            found.setdefault(kind.source, {})[kind.label] = kind.lifecycle
    return [Source(name, lifecycles) for name, lifecycles in found.items()]


async def waits_to_be_embedded(store: Store) -> bool:
    """Tell whether an item waits for its vector, or is being embedded."""
    kinds = {(kind.source, kind.label): kind for kind in await store.kinds.select()}
    return any(
        line.count and line.state in (STAGE, waiting_state(kinds[line.source, line.label].lifecycle, STAGE))
        for line in await store.count_by_state()
    )


def duties(sources: Sequence[Source], kinds: Mapping[tuple[str, str], Kind], settings: Configuration) -> list[Duty]:
    """The duties of these sources, far end first, so that work in progress stays small.

    Sources that share a function share a duty: embedding batches passages from everywhere.
    """
    served: dict[tuple[object, str, str], tuple[Handler, Lifecycle, list[Kind]]] = {}
    embedder = Embedder(settings.embedding)
    for source in sources:
        for handler in [*source.handlers, *_embedding_of(source, embedder)]:
            for label in source.stage_labels(handler):
                lifecycle = source.lifecycles[label]
                name = (handler.function, lifecycle.name, handler.state)
                _, _, together = served.setdefault(name, (handler, lifecycle, []))
                together.append(kinds[source.name, label])
    found = [_duty(handler, lifecycle, together, settings) for handler, lifecycle, together in served.values()]
    return sorted(found, key=_distance_from_the_end)


def _embedding_of(source: Source, embedder: Embedder) -> list[Handler]:
    """The handler that embeds, for each label whose items are to be embedded and that has none of its own. Its batches
    are as large as the model likes, and few at a time: all their texts are reserved meanwhile."""
    embedding = Handler(STAGE, embedder, batch=True, reads="passage", concurrency=_BATCHES_AT_ONCE)
    own = {label for handler in source.handlers if handler.state == STAGE for label in source.stage_labels(handler)}
    wanted = [label for label in source.stage_labels(embedding) if label not in own]
    return [replace(embedding, label=label, batch_size=embedder.batch_size) for label in wanted]


def policies(all_duties: Sequence[Duty]) -> dict[str, RetryPolicy]:
    """The retry policy of each duty by the places it serves, for a keeper, which has no handlers."""
    found: dict[str, RetryPolicy] = {}
    for duty in all_duties:
        for kind in duty.kinds:
            for state in duty.stage.lifecycle.reached(duty.stage.working):
                found.setdefault(place(kind.source, kind.label, state), duty.policy)
    for duty in all_duties:  # a stage's own policy goes before that of one whose steps lead there
        found |= {place(kind.source, kind.label, duty.stage.working): duty.policy for kind in duty.kinds}
    return found


def place(source: str, label: str, state: str) -> str:
    return f"{source}/{label}/{state}"


def _duty(handler: Handler, lifecycle: Lifecycle, kinds: list[Kind], settings: Configuration) -> Duty:
    waiting = waiting_state(lifecycle, handler.state)
    assert waiting is not None  # noqa: S101  Source has checked it
    limits = settings.stage(f"{lifecycle.name}.{handler.state}", handler.state, declared=_declared(handler))
    return Duty(
        stage=Stage(lifecycle, waiting, limits.max_attempts),
        handler=handler,
        kinds=tuple(kinds),
        batch_size=limits.batch_size,
        concurrency=limits.concurrency,
        time_limit_seconds=limits.time_limit_seconds,
        policy=RetryPolicy(limits.max_attempts, settings.retry.base_seconds, settings.retry.ceiling_seconds),
    )


def _declared(handler: Handler) -> StageSettings:
    return StageSettings(
        batch_size=handler.batch_size,
        concurrency=handler.concurrency,
        time_limit_seconds=handler.time_limit_seconds,
        max_attempts=handler.max_attempts,
    )


def _distance_from_the_end(duty: Duty) -> int:
    return -duty.stage.lifecycle.states.index(duty.stage.working)

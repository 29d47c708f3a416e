"""All settings, declared once, and the typed object that holds the values in force."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from detent.configuration.embedding import EmbeddingSettings
from detent.configuration.masking import masked
from detent.configuration.setting import Explained, Setting, setting

DEFAULT = "default"


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Settings of `detent work`: claiming items and working on them."""

    processes: int | None = setting(
        "Number of worker processes; unset starts one, or up to four if there is much to compute.",
        None,
        unit="processes",
        at_least=1,
        example="2",
    )
    lease_seconds: float = setting(
        "Time that a lease lasts after its last renewal; then other workers may claim its items.",
        300.0,
        unit="seconds",
        at_least=5,
        at_most=86_400,
    )
    poll_seconds: float = setting(
        "Pause of an idle worker before it looks for work again.",
        2.0,
        unit="seconds",
        at_least=0.05,
        at_most=3_600,
    )
    grace_seconds: float = setting(
        "Time that a stopping worker has to finish the work it has begun.",
        30.0,
        unit="seconds",
        at_least=0,
    )
    batch_size: int = setting(
        "Most items per claim, and per call of a handler that takes batches.",
        100,
        unit="items",
        at_least=1,
        at_most=10_000,
    )
    concurrency: int = setting(
        "Concurrent calls of a stage's handler in one process.",
        8,
        unit="calls",
        at_least=1,
        at_most=1_000,
    )
    time_limit_seconds: float = setting(
        "Time that a handler may take; then it is stopped and the attempt counts as failed.",
        300.0,
        unit="seconds",
        above=0,
    )
    max_attempts: int = setting(
        "Attempts per item before it is marked as failed.",
        3,
        unit="attempts",
        at_least=1,
        at_most=100,
    )


@dataclass(frozen=True, kw_only=True)
class StageSettings:
    """One stage's overrides of the worker's settings; None means no override."""

    batch_size: int | None = None
    concurrency: int | None = None
    time_limit_seconds: float | None = None
    max_attempts: int | None = None


@dataclass(frozen=True, kw_only=True)
class RetrySettings:
    """Backoff after a transient error."""

    base_seconds: float = setting(
        "Wait before the first retry; each further wait is twice as long.",
        2.0,
        unit="seconds",
        at_least=0,
        option="--retry-base-seconds",
    )
    ceiling_seconds: float = setting(
        "Longest wait between two attempts.",
        3_600.0,
        unit="seconds",
        at_least=0,
        option="--retry-ceiling-seconds",
    )


@dataclass(frozen=True, kw_only=True)
class JournalSettings:
    """Retention of the journal."""

    retention_days: int | None = setting(
        "Time that moves stay in the journal; unset keeps them for ever.",
        None,
        unit="days",
        at_least=1,
        at_most=36_500,
        example="365",
    )


@dataclass(frozen=True, kw_only=True)
class HandlerSettings:
    """The user's own code."""

    modules: tuple[str, ...] = setting(
        "Python modules to import that declare sources, lifecycles and handlers.",
        (),
        pattern=r"[^\W\d]\w*(\.[^\W\d]\w*)*",
        form='a list of Python module names, such as ["my_project.handlers"]',
    )


@dataclass(frozen=True, kw_only=True)
class WikiDefaults:
    """Defaults of wiki sources, for values that a source does not set."""

    contact: str | None = setting(
        "Contact that is sent to wikis, as Wikimedia asks. It is stored with a wiki when the wiki is added.",
        None,
        pattern=r"\S(.*\S)?",
        form="your e-mail address, or the address of a page about you",
        example='"you@example.org"',
    )


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """All values in force, and the place of each that is not a default.

    `insisted` names the values from the environment and from flags.
    """

    database: str | None = setting(
        "The PostgreSQL server to use; unset starts Detent's own in the .detent folder.",
        None,
        pattern=r"postgres(ql)?://.*|\s*\w+\s*=.*",
        form="a postgresql:// URL or a connection string such as host=db dbname=detent",
        example='"postgresql://detent@db.example/detent"',
        secret=True,
        variable="DETENT_DATABASE_URL",
    )
    worker: WorkerSettings = WorkerSettings()
    retry: RetrySettings = RetrySettings()
    journal: JournalSettings = JournalSettings()
    handlers: HandlerSettings = HandlerSettings()
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    wiki: WikiDefaults = WikiDefaults()
    stages: Mapping[str, StageSettings] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    insisted: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def stage(self, *names: str, declared: StageSettings) -> WorkerSettings:
        """Return the settings of a stage that goes by these names, the nearest first.

        The handler's `declared` settings win over [worker], [stage] wins over those, and values from the
        environment or a flag win over all.
        """
        own = next((self.stages[name] for name in names if name in self.stages), StageSettings())
        given = {key: getattr(own, key) or getattr(declared, key) for key in STAGE_SETTINGS}
        return replace(
            self.worker, **{key: value for key, value in given.items() if value and not self._insists_on(key)}
        )

    def explain(self) -> list[Explained]:
        """Return every value in force: all settings as declared, then the stages' overrides."""
        explained = []
        for known in SETTINGS.values():
            holder = getattr(self, known.section) if known.section else self
            explained.append(self._explained(known.name, known, getattr(holder, known.key)))
        for stage, overrides in self.stages.items():
            for key, known in STAGE_SETTINGS.items():
                if (value := getattr(overrides, key)) is not None:
                    explained.append(self._explained_of_stage(dotted((STAGE, stage, key)), known, value))
        return explained

    def _insists_on(self, key: str) -> bool:
        return f"worker.{key}" in self.insisted

    def _explained_of_stage(self, name: str, known: Setting, value: Any) -> Explained:
        found = self._explained(name, known, value)
        if not self._insists_on(known.key):
            return found
        origin = f"{self.origins[known.name]}, over {found.origin}"
        return replace(found, value=getattr(self.worker, known.key), origin=origin)

    def _explained(self, name: str, known: Setting, value: Any) -> Explained:
        if isinstance(value, tuple):
            value = list(value)
        elif known.secret and value is not None:
            value = masked(value)
        return Explained(name, value, known.unit, known.description, self.origins.get(name, DEFAULT))


def dotted(path: tuple[str, ...]) -> str:
    """Return a key's full name as TOML writes it: `worker.processes`, `stage."node.parsing".batch_size`."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part) for part in path)


def by_key() -> dict[str, Setting]:
    """Map the settings by key alone; of two with the same key, the first one declared counts."""
    return {each.key: each for each in reversed(list(SETTINGS.values()))}


def _declared(holder: type, section: str = "") -> Iterator[Setting]:
    types = get_type_hints(holder)
    for each in fields(holder):
        if "setting" in each.metadata:
            yield replace(each.metadata["setting"], name=section + each.name, type=_type(types[each.name]))
        elif is_dataclass(types[each.name]):
            yield from _declared(types[each.name], each.name + ".")


def _type(annotation: Any) -> type:
    """`int` for `int | None`, `tuple` for `tuple[str, ...]`."""
    if get_origin(annotation) is tuple:
        return tuple
    found: type = next((part for part in get_args(annotation) if part is not NoneType), annotation)
    return found


SETTINGS: Mapping[str, Setting] = {each.name: each for each in _declared(Configuration)}
SECTIONS = tuple(dict.fromkeys(each.section for each in SETTINGS.values() if each.section))
STAGE = "stage"
STAGE_SETTINGS: Mapping[str, Setting] = {each.name: SETTINGS[f"worker.{each.name}"] for each in fields(StageSettings)}

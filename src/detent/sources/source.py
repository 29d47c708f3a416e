"""The declaration of a source and of its handlers."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from detent.configuration.settings import STAGE_SETTINGS
from detent.configuration.values import checked, nearest
from detent.errors import DetentError, InvalidSetting, InvalidSource
from detent.knowledge import Bounds, NewItem
from detent.lifecycle import BUILTIN, Event, Lifecycle

Named = Iterable[NewItem] | AsyncIterable[NewItem]
Discover = Callable[[], Named | Awaitable[Named]]
Watch = Callable[[], AsyncIterable[object]]
Close = Callable[[], Awaitable[None]]
Refresh = Callable[[Sequence[str]], Mapping[str, str] | Awaitable[Mapping[str, str]]]
Function = Callable[..., Any] | Callable[..., Awaitable[Any]]

_LANGUAGE = re.compile("[A-Za-z_]+")


class PartlyUnseen(DetentError):
    """A source could not look everywhere, and has named all that it could. What has one of these keys, or one that goes
    on after it with `/`, is left as it is; if there are none, all is that was not named."""

    def __init__(self, message: str, unseen: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.unseen = unseen


class PartlyTold(DetentError):
    """A source could not tell how all of its items stand that it was asked for. `standing` has what it told."""

    def __init__(self, message: str, standing: Mapping[str, str]) -> None:
        super().__init__(message)
        self.standing = standing


@dataclass(frozen=True)
class Handler:
    """The function that does one stage's work.

    It is given an item and returns an outcome; with `batch` it is given a list of items and returns a list
    of outcomes in the same order. None for an outcome means done, with nothing to write. An ordinary function
    runs in a thread, an async one in the event loop.

    A generator does its work in several commits: it yields `detent.Step(…)` for each, is given the item as it is then,
    and ends with a last yield of an outcome (none: done). Its time limit and its attempts count for each step.

    It may be called again for the same item, after a crash or when it was over its time limit: what it returns is
    written once, but what it does by itself, such as sending a mail or writing a file, must bear repetition.

    `reads` asks for what the handler needs of the item's content, which is then on the item: "node", "links" (the node,
    and what it refers to) or "passage".

    `computes` says that it keeps a processor busy, and does not wait for others: where many items wait for it, and
    nobody has said how many processes there are to be, several share them.

    `label` restricts it to the items of one label. What is left out is taken from the configuration, in which a
    stage's own settings, the environment and flags win over what is declared here.
    """

    state: str
    function: Function
    label: str | None = None
    batch: bool = False
    batch_size: int | None = None
    concurrency: int | None = None
    time_limit_seconds: float | None = None
    max_attempts: int | None = None
    reads: Literal["node", "links", "passage"] | None = None
    computes: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.state, str) or not self.state:
            raise InvalidSource(f"A handler needs the name of a state to work in, and {self.state!r} is none.")
        if not callable(self.function):
            raise InvalidSource(f"{self} needs a function, and {self.function!r:.60} is none.")
        if self.batch and self.steps:
            raise InvalidSource(
                f"{self} is a generator, which is given one item and not a batch: leave out batch=True."
            )
        if self.reads not in (None, "node", "links", "passage"):
            raise InvalidSource(f"{self} can read its items' node, links or passage, and not {self.reads!r}.")
        for name, setting in STAGE_SETTINGS.items():
            if getattr(self, name) is not None:
                try:
                    checked(setting, getattr(self, name), name, str(self))
                except InvalidSetting as error:
                    raise InvalidSource(str(error)) from None

    def __str__(self) -> str:
        return f"The handler for the state {self.state!r}"

    @property
    def is_async(self) -> bool:
        return self._is(inspect.iscoroutinefunction) or self._is(inspect.isasyncgenfunction)

    @property
    def steps(self) -> bool:
        """True if it is a generator, which yields steps before its outcome."""
        return self._is(inspect.isgeneratorfunction) or self._is(inspect.isasyncgenfunction)

    def _is(self, what: Callable[[object], bool]) -> bool:
        call = getattr(self.function, "__call__", None)  # noqa: B004  an object whose class says what it is
        return what(self.function) or what(call)


@dataclass(frozen=True, init=False)
class Source:
    """One origin of knowledge.

    `lifecycles` says for each label which lifecycle its items follow; a built-in one can be given by its name.

    `discover` names its items, all of them each time; those that are known already are passed over, unless they are
    named with another content hash: these go round again. A generator may name any number: they are added as it goes
    on. An ordinary function or generator runs in a thread, an async function that returns a list or an async generator
    in the event loop.

    `complete` are the labels of which `discover` names all items there are. Of those, what it no longer names leaves
    the graph with all that belongs to it, once it has named everything without an error.

    `watch`, called when a worker is to keep up with the source, tells again and again that `discover` may name
    something else now: an async generator.

    `refresh` says for a label how its items stand now: a function that is given keys of items that were done or failed,
    and returns the content hash of each as it is now; of what is not there, some text that says so. What has another
    one then goes round again, and so does what failed for a passing reason.

    `close` is called when a worker that may have called its handlers ends: an async function.

    `bounds` say for a label how deep its items may be, and how many may come to rest.

    `versions` name for a label all that its handlers make something else by, beside the items themselves: their own
    version, and settings. When that is another text than before, all that was done goes round again.

    `language` is that of its texts, such as "english": search then takes "runs" and "running" for the same word. It is
    the name of a text search configuration of PostgreSQL's. Without it, what the database has is kept; at first that
    is `simple`, which takes words as they are written.
    """

    name: str
    lifecycles: Mapping[str, Lifecycle]
    handlers: Sequence[Handler]
    discover: Discover | None = field(compare=False)
    language: str | None
    complete: frozenset[str]
    watch: Watch | None = field(compare=False)
    bounds: Mapping[str, Bounds]
    close: Close | None = field(compare=False)
    refresh: Mapping[str, Refresh] = field(compare=False)
    versions: Mapping[str, str]

    def __init__(
        self,
        name: str,
        lifecycles: Mapping[str, Lifecycle | str],
        handlers: Sequence[Handler] = (),
        discover: Discover | None = None,
        language: str | None = None,
        *,
        complete: Collection[str] = (),
        watch: Watch | None = None,
        bounds: Mapping[str, Bounds] | None = None,
        close: Close | None = None,
        refresh: Mapping[str, Refresh] | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name or not lifecycles:
            raise InvalidSource("A source needs a name and at least one label with its lifecycle.")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "lifecycles", self._resolved(lifecycles))
        object.__setattr__(self, "handlers", handlers)
        object.__setattr__(self, "discover", discover)
        object.__setattr__(self, "language", language)
        object.__setattr__(self, "complete", frozenset([complete] if isinstance(complete, str) else complete))
        object.__setattr__(self, "watch", watch)
        object.__setattr__(self, "bounds", dict(bounds or {}))
        object.__setattr__(self, "close", close)
        object.__setattr__(self, "refresh", dict(refresh or {}))
        object.__setattr__(self, "versions", dict(versions or {}))
        self._check_types()
        for handler in handlers:
            self._check(handler)
        self._refuse_rivals()

    def stage_labels(self, handler: Handler) -> list[str]:
        """The labels whose items this handler works on."""
        return [
            label
            for label, lifecycle in self.lifecycles.items()
            if handler.label in (None, label) and waiting_state(lifecycle, handler.state) is not None
        ]

    def _resolved(self, lifecycles: object) -> dict[str, Lifecycle]:
        """The lifecycles by label, those that were given by name looked up."""
        if not isinstance(lifecycles, Mapping):
            raise InvalidSource(f"{self.name}: the lifecycles are given by label, as in {{'Article': ARTICLE}}.")
        return {label: self._lifecycle(label, lifecycle) for label, lifecycle in lifecycles.items()}

    def _lifecycle(self, label: object, lifecycle: object) -> Lifecycle:
        if isinstance(lifecycle, Lifecycle):
            return lifecycle
        if not isinstance(lifecycle, str):
            raise InvalidSource(f"{self.name}: the label {label!r} needs a lifecycle, and {lifecycle!r:.60} is none.")
        if lifecycle not in BUILTIN:
            meant = nearest(lifecycle, {name: name for name in BUILTIN})
            advice = f"Did you mean {meant!r}?" if meant else f"There are {', '.join(BUILTIN)}."
            raise InvalidSource(f"{self.name}: there is no built-in lifecycle {lifecycle!r}. {advice}")
        return BUILTIN[lifecycle]

    def _check_types(self) -> None:
        if not isinstance(self.handlers, Sequence) or not all(isinstance(each, Handler) for each in self.handlers):
            raise InvalidSource(f"{self.name}: handlers is a list of detent.Handler, not {self.handlers!r:.60}.")
        if self.discover is not None and not callable(self.discover):
            raise InvalidSource(
                f"{self.name}: discover is a function that names the items, and {self.discover!r:.60} is none."
            )
        if self.language is not None and not (isinstance(self.language, str) and _LANGUAGE.fullmatch(self.language)):
            raise InvalidSource(
                f"{self.name}: the language is a name such as 'english', of letters and underscores, "
                f"and {self.language!r:.60} is none."
            )

        for label, bounds in self.bounds.items():
            self._check_bounds(label, bounds)
        for what, labels in (("refresh", self.refresh), ("complete", self.complete), ("versions", self.versions)):
            if unknown := sorted(set(labels) - set(self.lifecycles)):
                raise InvalidSource(f"{self.name}: {what} names the label {unknown[0]!r}, which is not declared.")

    def _check_bounds(self, label: str, bounds: Bounds) -> None:
        if label not in self.lifecycles:
            raise InvalidSource(f"{self.name}: there are bounds for the label {label!r}, which is not declared.")
        for name in ("depth", "most", "breadth"):
            if (value := getattr(bounds, name)) is not None and (not isinstance(value, int) or value < 0):
                raise InvalidSource(f"{self.name}: the {name} of {label!r} is a whole number from 0 on, not {value!r}.")
        states = set(self.lifecycles[label].states)
        if bounds.most is not None and bounds.state not in states:
            raise InvalidSource(
                f"{self.name}: the bounds of {label!r} need the state in which at most so many items come to rest, "
                f"and {bounds.state!r} is none. There are {', '.join(sorted(states))}."
            )

    def _refuse_rivals(self) -> None:
        """Of two handlers for the same work, nobody could say which one is called."""
        first: dict[tuple[str, str], Handler] = {}
        for handler in self.handlers:
            for label in self.stage_labels(handler):
                rival = first.setdefault((handler.state, label), handler)
                if rival is not handler:
                    raise InvalidSource(
                        f"{self.name}: two handlers are declared for the state {handler.state!r} of the label "
                        f"{label!r}, {_name(rival)} and {_name(handler)}. Keep one, or give each a label of its own."
                    )

    def _check(self, handler: Handler) -> None:
        if handler.label is not None and handler.label not in self.lifecycles:
            raise InvalidSource(f"{self.name}: a handler is for the label {handler.label!r}, which is not declared.")
        if not self.stage_labels(handler):
            raise InvalidSource(
                f"{self.name}: a handler works in the state {handler.state!r}, "
                "which no claim leads to in the lifecycles of its labels."
            )


def require_sources(given: object) -> list[Source]:
    """The sources that a program was given: a list of them, or a single one."""
    sources = [given] if isinstance(given, Source) else given
    if isinstance(sources, str) or not isinstance(sources, Iterable):
        raise InvalidSource(f"sources is a list of detent.Source, and {given!r:.60} is none.")
    found: dict[str, Source] = {}
    for source in sources:
        if not isinstance(source, Source):
            raise InvalidSource(f"sources is a list of detent.Source, and {source!r:.60} in it is none.")
        if source.name in found:
            raise InvalidSource(f"The source {source.name!r} is declared twice.")
        found[source.name] = source
    return list(found.values())


def _name(handler: Handler) -> str:
    return str(getattr(handler.function, "__name__", handler.function))


def waiting_state(lifecycle: Lifecycle, working: str) -> str | None:
    """The state from which a claim leads to this working state."""
    claims = [move for move in lifecycle.moves if move.event is Event.CLAIM and move.to == working]
    return next((move.state for move in claims if move.state in lifecycle.waiting), None)

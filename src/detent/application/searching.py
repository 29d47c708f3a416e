"""The verbs of search, as the command line and `db` offer them: items are named by keys, and what is wrong is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from sys import float_info
from typing import TYPE_CHECKING, Any

from detent.application.naming import node_named, nodes_named
from detent.application.verbs import Verbs, require_limit
from detent.errors import DetentError, InvalidSource
from detent.knowledge.filters import Filters
from detent.store.values import check_properties, check_text

if TYPE_CHECKING:
    from detent.search import Answer, Search, Suggestion

WEIGHTS = (0.7, 0.3)


class SearchVerbs(Verbs):
    """Search an open database. An item is named by a key, its own or an alias, or by its number."""

    @cached_property
    def _search(self) -> Search:
        from detent.search import Search

        return Search(self.store, self.settings.embedding)

    def _know_provider(self) -> str | None:
        """Import the project's modules if one of them has to register the provider of vectors; returns what kept it
        from that."""
        from detent.embedding.registry import is_registered

        if is_registered(self.settings.embedding.provider) or not self.settings.handlers.modules:
            return None
        from detent.worker.modules import load_sources

        try:
            load_sources(self.settings.handlers.modules, self.project)
        except InvalidSource as error:
            return str(error)
        return None

    def close_search(self) -> None:
        """End what the searches have opened."""
        if "_search" in self.__dict__:
            self._search.close()

    async def search(
        self,
        text: str,
        *,
        mode: str | None = None,
        limit: int = 10,
        filters: Filters | None = None,
        grouped: bool = True,
        around: Sequence[str | int] = (),
        weights: tuple[float, float] = WEIGHTS,
        marks: tuple[str, str] = ("", ""),
    ) -> Answer:
        """The best results for free text: the `hits`, best first, and `notes` that the reader should see.

        `mode` is `hybrid` (words and meaning), `text`, `semantic` or `graph`, which searches around the items that
        `around` names by key or number. Default: `graph` with `around`, else `hybrid`. In a graph search, `weights` are
        those of similarity and of nearness. `grouped` shows only the best passage of each article or file. `marks` are
        put around matches in a snippet.
        """
        _require_text(text)
        require_limit(limit)
        _check(filters)
        names = _listed(around)
        _require_graph(mode, names)
        warning = None if mode == "text" else self._know_provider()
        answer = await self._search.search(
            text,
            mode=mode or ("graph" if names else "hybrid"),
            limit=limit,
            filters=filters,
            grouped=grouped,
            around=[number for name in names for number in await nodes_named(self.store, name)],
            weights=_checked_weights(weights),
            marks=marks,
        )
        return replace(answer, notes=(warning, *answer.notes)) if warning else answer

    async def explain_nothing(self, *, mode: str | None = None, filters: Filters | None = None) -> str:
        """Explain in a sentence why a search in a mode and with filters found nothing, as far as known."""
        known = await self.store.texts.statistics()
        if not known.texts and not known.pending:
            return "Nothing is found: there are no texts yet. `detent run` brings them in."
        if filters is not None and filters != Filters():
            scope = await self.store.filtering.scope(filters)
            if scope.allowed is not None and not scope.allowed:
                return "Nothing is found: there is nothing at all that meets the filters."
            return "Nothing is found among what meets the filters."
        if mode == "graph":
            return "Nothing is found near the nodes that were named."
        if mode == "text":
            return "No text has these words. The mode hybrid finds what means the same as well."
        return "Nothing is found."

    async def similar(
        self,
        key: str | int,
        *,
        source: str | None = None,
        label: str | None = None,
        limit: int = 10,
        filters: Filters | None = None,
        grouped: bool = True,
    ) -> Answer:
        """The items nearest in meaning to one, by its key or number.

        `source` and `label` say which item is meant where several have the key; `filters` restrict the results.
        """
        require_limit(limit)
        _check(filters)
        number = await node_named(self.store, key, source, label)
        return await self._search.similar(number, limit=limit, filters=filters, grouped=grouped)

    async def suggest(self, prefix: str, *, limit: int = 10, filters: Filters | None = None) -> list[Suggestion]:
        """Nodes whose titles begin with `prefix`. Of the filters, only sources and labels apply."""
        _require_text(prefix)
        require_limit(limit)
        _check(filters)
        return await self._search.suggest(prefix, limit=limit, filters=filters)


def _listed(names: Sequence[str | int] | str | int) -> Sequence[str | int]:
    """Several items, or a single one."""
    return [names] if isinstance(names, str | int) else names


def _require_text(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"What is searched for is a text, such as 'steam engine', not {text!r}.")


def _require_graph(mode: str | None, around: Sequence[str | int]) -> None:
    if around and mode not in (None, "graph"):
        raise DetentError(
            f"Around given nodes the graph is searched, and not by the mode {mode!r}. Leave one of them out."
        )


def _checked_weights(weights: Iterable[Any]) -> tuple[float, float]:
    """Two numbers. Others would not fail: they would give scores that mean nothing."""
    given = tuple(weights) if isinstance(weights, Iterable) else (weights,)
    if len(given) != 2 or not all(isinstance(each, int | float) and 0 <= each <= float_info.max for each in given):
        raise DetentError(f"The weights are two numbers that are not negative, such as (0.7, 0.3), not {weights!r}.")
    return float(given[0]), float(given[1])


def _check(filters: Filters | None) -> None:
    """Refuse what no node can have; a text where a list belongs would be taken letter by letter."""
    if filters is None:
        return
    if not isinstance(filters, Filters):
        raise TypeError(f"filters is detent.Filters, such as Filters(since='2020'), not {filters!r}.")
    for name in ("sources", "labels", "categories"):
        given = getattr(filters, name)
        if isinstance(given, str):
            raise DetentError(f"{name} of a filter is a list of names, such as [{given!r}], not a text.")
        for each in given:
            check_text(f"a name among the filter's {name}", each)
    for name in ("since", "until", "prefix"):
        check_text(f"the filter's {name!r}", getattr(filters, name))
    check_properties("the filter's properties", filters.properties)

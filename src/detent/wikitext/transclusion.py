"""The effects of a template on the pages that use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from detent.wikitext.marks import cleaned
from detent.wikitext.markup import Reader
from detent.wikitext.site import Site
from detent.wikitext.switches import switches_in
from detent.wikitext.titles import Titles
from detent.wikitext.verbatim import set_aside

_ONLY, _ONLY_END = "<onlyinclude>", "</onlyinclude>"


class Given(NamedTuple):
    """The switches that a template sets, and the templates that it uses itself, without their namespace."""

    switches: frozenset[str]
    templates: Sequence[str]


def given(text: str, site: Site) -> Given:
    """Return the effects of a template, by its wikitext. Effects that depend on its arguments count as if they
    always applied."""
    if _ONLY in text and _ONLY_END in text:
        text = "".join(part.partition(_ONLY_END)[0] for part in text.split(_ONLY)[1:])
    text, _ = set_aside(cleaned(text), template=True)
    reader = Reader(Titles(site))
    reader.read(f"\n{text}")
    return Given(switches_in(text), list(reader.found.templates))

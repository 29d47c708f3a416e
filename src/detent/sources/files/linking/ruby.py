"""Ruby: what is required is a file of `lib`, or a gem; what it defines is not told."""

from __future__ import annotations

from detent.sources.files.linking.consuming import Elsewhere, nowhere
from detent.sources.files.linking.gathering import IMPORTS, Gathered
from detent.sources.files.linking.paths import folder_of, joined
from detent.sources.files.linking.roots import Roots
from detent.sources.files.parsing.parsed import Parsed


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file requires."""
    places = roots.ruby(gathered.path).places
    for each in parsed.imports:
        first = each.module.partition("/")[0]
        if first in {".", ".."}:
            folders = [folder_of(gathered.path)]
        elif first in places:
            folders = list(places[first])
        else:
            gathered.library("ruby", first)
            continue
        for folder in folders:
            if found := joined(folder, each.module):
                gathered.file("", IMPORTS, found if found.endswith(".rb") else f"{found}.rb")
    return nowhere

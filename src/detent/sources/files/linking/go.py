"""Go: a package is a folder, so that an import leads to that; in which of its files a name is defined is not known."""

from __future__ import annotations

from detent.sources.files.linking.consuming import Elsewhere, nowhere
from detent.sources.files.linking.gathering import IMPORTS, Gathered
from detent.sources.files.linking.paths import joined
from detent.sources.files.linking.roots import Roots
from detent.sources.files.parsing.parsed import Parsed


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file imports: folders of its own module, and other packages."""
    root = roots.go(gathered.path)
    for each in parsed.imports:
        if root.name and f"{each.module}/".startswith(f"{root.name}/"):
            folder = joined(root.folder, each.module[len(root.name) :])
            if folder is not None:
                gathered.directory("", IMPORTS, folder)
        elif not each.module.startswith(("/", ".")):
            gathered.library("go", each.module)
    return nowhere

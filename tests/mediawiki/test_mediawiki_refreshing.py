"""What was edited, moved and deleted in a real MediaWiki is taken over: the graph is then that of a fresh expansion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.mediawiki.expanding import Project
from tests.mediawiki.mediawiki import MediaWiki
from tests.mediawiki.packing import pack
from tests.mediawiki.pages import SEEDS, all_pages

TEXTS = {page.title: page.text for page in all_pages()}
GONE = ("C++", "R&D", "Öl", "Night/Sky/Star", "OWL", "Article 3")


def _change(wiki: MediaWiki) -> None:
    """Do to pages all that can be done to them, but for taking links away: what nothing leads to any more stays. What
    those that are gone linked to is linked to by another one."""
    wiki.edit("Other names", "\n".join(["Edited.", TEXTS["Other names"], *(TEXTS[title] for title in GONE)]))
    wiki.edit("Moon", "It shines on the [[Night]], on [[a new page]] and on [[Article 290]].\n== Phases ==\nFour.")
    wiki.edit("A new page", "It is new. [[Article 291]] [[Category:New]]")
    wiki.edit("Owls", "#REDIRECT [[Mouse]]")
    wiki.edit("Star", "#REDIRECT [[Moon#Phases]]")
    wiki.edit("Spelled", "No longer another name, but an article. [[Owl]]")
    wiki.edit("OWL", "This is [[Owl]], or something else. {{Disambiguation}}")
    wiki.edit("Article 3", "#REDIRECT [[Help:Owls]]")
    wiki.move({"Äpfel": "Birnen", "AT&T": "At & T"})
    wiki.move({"C++": "C plus plus"}, redirect=False)
    wiki.delete("R&D", "Öl", "Late", "Night/Sky/Star")


def test_a_refreshed_graph_is_that_of_a_fresh_expansion(
    changing_wiki: MediaWiki, make_project: Callable[[], Project], tmp_path: Path
) -> None:
    wiki = changing_wiki
    dump = pack(wiki.dump(), tmp_path, "multistream")
    ways = {"api": ["--api", wiki.api], "dump": ["--dump", str(dump)]}
    refreshed = {way: make_project() for way in ways}
    for way, project in refreshed.items():
        project.add(SEEDS, *ways[way])
        project.run()
    _change(wiki)
    pack(wiki.dump(), tmp_path, "multistream")
    fresh = make_project()
    fresh.add(SEEDS, *ways["api"])
    fresh.run()
    expected = fresh.result()
    for project in refreshed.values():
        project.run("--refresh")
        project.result().require(expected, ends=False)

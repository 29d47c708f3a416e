"""The type `wiki`, as it is registered: a MediaWiki, over its API or out of a dump."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from detent.sources.options import Option, Settings
from detent.sources.source import Source
from detent.sources.types import Adding, Prepared, SourceType
from detent.sources.wiki.settings import DEPTH, MAX_LINKS


def make(name: str, settings: Settings) -> Source:
    from detent.sources.wiki.source import make

    return make(name, settings)


async def prepare(adding: Adding) -> Prepared:
    from detent.sources.wiki.adding import prepare

    return await prepare(adding)


def tidy(dropped: Settings, others: Iterable[Settings]) -> None:
    from detent.sources.wiki.source import tidy

    tidy(dropped, others)


WIKI = SourceType(
    "wiki",
    "Add a wiki: articles, and what they link to.",
    make,
    [
        Option("seeds", "An article to begin with.", repeatable=True, flags=("--seed", "--add-seed"), metavar="TITLE"),
        Option(
            "seeds_file",
            "A file of titles to begin with, one on each line; lines that begin with # are passed over.",
            Path,
            exists="file",
        ),
        Option("category", "Begin with the articles of this category.", repeatable=True, metavar="NAME"),
        Option("search", "Begin with what the wiki's own search finds.", repeatable=True, metavar="WORDS"),
        Option("depth", "How many links away from them to go.", int, default=DEPTH, at_least=0),
        Option("target", "How many articles to load at most.", int, at_least=1),
        Option("max_links", "How many links of an article to follow.", int, default=MAX_LINKS, at_least=0),
        Option("api", "The wiki's api.php.  [default: the English Wikipedia's]", metavar="URL"),
        Option("lang", "The Wikipedia in this language, such as de.", metavar="CODE"),
        Option("dump", "A dump to read instead of asking the wiki.", Path, exists="any"),
        Option("index", "The dump's index.", Path, exists="file"),
        Option("contact", "Your e-mail address or page, which Wikimedia's wikis want to know.", metavar="ADDRESS"),
        Option("per_minute", "How many requests a minute at most.", float, above=0),
        Option("language", "The language of its texts for search.  [default: the wiki's]", metavar="NAME"),
        Option("password", "The password of the user who is named in --api.", secret=True),
    ],
    description="""Add a MediaWiki as the source NAME: the seeds, what they link to, and so on, breadth first.

    Seeds are checked first. Called again with the same NAME, it adds seeds and changes what is said; a greater --depth
    or --target goes on with the same graph. With a dump and no seeds, all of it is taken.""",
    examples=(
        'detent add wiki ml --seed "Machine learning" --seed "Deep learning" --depth 2 --target 5000',
        'detent add wiki ml --add-seed "Statistics" --depth 3',
        'detent add wiki berlin --lang de --category "Berlin" --depth 1',
        'detent add wiki intern --api https://wiki.example.org/w/api.php --seed "Main Page"',
        "detent add wiki all --dump enwiki-20260101-pages-articles-multistream.xml.bz2",
    ),
    prepare=prepare,
    tidy=tidy,
)

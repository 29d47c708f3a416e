"""Which categories of a dump are kept apart from those that readers are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

import detent
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make

HIDES = "__HIDDENCAT__"


@pytest.fixture
def hidden(database: str, tmp_path: Path) -> Callable[..., list[str]]:
    """The hidden ones of an article's categories. Each is given by the text of its page, None if it has none."""

    def read(templates: dict[str, str], **categories: str | None) -> list[str]:
        pages = [
            DumpedPage("Owl", "".join(f"[[Category:{name}]]" for name in categories)),
            *(DumpedPage(f"Category:{name}", text, 14) for name, text in categories.items() if text is not None),
            *(_template(name, text) for name, text in templates.items()),
        ]
        path = dumps.write(tmp_path, pages)
        settings = WikiSettings(dump=path, cache=tmp_path / "cache", seeds=("Owl",), depth=0)
        with detent.open(database=database, sources=make("wiki", settings.as_data())) as db:
            db.run(wait=False)
            [found] = db.graph.find("Owl", label="Article")
            owl = db.graph.node(found.id)
        apart: list[str] = owl.properties.get("hidden_categories", [])
        assert {*owl.properties.get("categories", []), *apart} == set(categories)
        return apart

    return read


def _template(name: str, text: str) -> DumpedPage:
    target = text.removeprefix("#REDIRECT [[").removesuffix("]]") if text.startswith("#REDIRECT") else None
    return DumpedPage(f"Template:{name}", text, 10, redirect=target)


def test_a_category_is_hidden_by_its_page_or_by_a_template_on_it(hidden: Callable[..., list[str]]) -> None:
    templates = {
        "Tracking": f"<includeonly>{HIDES}</includeonly>",
        "Old tracking": "#REDIRECT [[Template:Tracking]]",
    }
    found = hidden(
        templates,
        A=HIDES,
        B="{{Tracking}}",
        C=f"<nowiki>{HIDES}</nowiki>",
        D="{{Old tracking|x}}",
        E=None,
        F=f"<includeonly>{HIDES}</includeonly>",
    )
    assert found == ["A", "B", "D"]


def test_a_category_is_hidden_by_a_template_of_a_template(hidden: Callable[..., list[str]]) -> None:
    templates = {
        "Upkeep": "{{Box|text={{Tracking}}}}",
        "Tracking": f"{{{{#if:{{{{{{1|}}}}}}|x|{HIDES}}}}}",
        "Circle": "{{Round}}",
        "Round": "{{Circle}}",
        "Way": "{{Circle}}{{Upkeep}}",
    }
    assert hidden(templates, A="{{Upkeep}}", B="{{Circle}}", C="{{Round}}", D="{{Way}}") == ["A", "D"]


@pytest.mark.parametrize(
    ("text", "hides"),
    [
        (HIDES, True),
        (f"<noinclude>{HIDES}</noinclude>", False),
        (f"a<noinclude>b{HIDES}", False),
        (f"<!-- {HIDES} -->", False),
        (f"<nowiki>{HIDES}</nowiki>", False),
        (f"<onlyinclude>a</onlyinclude>{HIDES}", False),
        (f"a<onlyinclude>{HIDES}</onlyinclude>b", True),
        (f"<!-- <noinclude> -->{HIDES}<!-- </noinclude> -->", True),
        (f"<nowiki><noinclude></nowiki>{HIDES}<noinclude>a</noinclude>", True),
        (f"<noinclude>a</noinclude><includeonly>{HIDES}</includeonly>", True),
        ("<noinclude>{{Tracking}}</noinclude>", False),
    ],
)
def test_a_template_hides_categories_by_what_it_gives_to_their_pages(
    hidden: Callable[..., list[str]], text: str, hides: bool
) -> None:
    found = hidden({"Note": text, "Tracking": HIDES}, A="{{Note}}")
    assert found == (["A"] if hides else [])

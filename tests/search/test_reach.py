"""How far a search reaches: what is far away in meaning, belongs to something, or is hidden behind many others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql

from detent.knowledge import Child, Done, Node
from detent.knowledge.filters import Filters
from detent.knowledge.query import Query as Asked
from detent.lifecycle import ARTICLE, PASSAGE
from detent.search import Answer
from detent.store import Stage
from detent.store.ledger.filtering import _CONDITIONS, _MATCHING
from detent.store.statements import SQL
from detent.store.texts import search

if TYPE_CHECKING:
    from tests.search.conftest import Library


Query = Callable[..., list[Any]]


def keys(answer: Answer) -> list[str]:
    return [hit.key for hit in answer.hits]


async def put(library: Library, key: str, node: Node, *children: Child) -> None:
    """An article as it is given."""
    await library.store.add("wiki", "Article", [key])
    [item] = await library.store.claim(Stage(ARTICLE, "discovered"), owner="w")
    [receipt] = await library.store.settle([(item, Done(node, children=children))])
    assert receipt.state == "loaded", receipt


async def nest(library: Library, query: Query, node: Node) -> None:
    """A file with a class in it that has a method."""
    await library.store.declare("wiki", "Method", PASSAGE)
    outer = Child("Section", "Garden", Node("Garden", "A class of gardens."))
    inner = Child("Method", "grow", Node("grow", "A method that grows flowers in a garden."))
    await put(library, "docs/garden.py", node, outer, inner)
    number = await library.number("Garden")
    query("UPDATE node SET parent_id = %s WHERE title = 'grow'", number)


async def test_what_is_like_an_item_is_found_behind_its_many_passages(library: Library) -> None:
    """It was empty where the item's own passages were all that is nearest."""
    await library.put("Garden", *(f"A garden with flowers and trees, number {number}." for number in range(70)))
    await library.put("Park", "A park has paths and benches.")
    await library.tend()
    for key in ("Garden", "Garden/3"):
        assert keys(await library.search.similar(await library.number(key))) == ["Park"]


async def test_what_is_like_an_item_is_what_is_like_its_own_text_where_it_has_one(
    library: Library, query: Query
) -> None:
    outer = Child("Section", "Cats", Node("Cats", "A cat is a furry animal that purrs and catches mice."))
    inner = [Child("Section", f"mill/{n}", Node("Mill", f"A steam engine drives mill {n}.")) for n in range(5)]
    await put(library, "Mixed", Node("Mixed"), outer, *inner)
    cats = await library.number("Cats")
    query("UPDATE node SET parent_id = %s WHERE title = 'Mill'", cats)
    await library.put("Kitten", "Kittens are young cats that purr.")
    await library.put("Boiler", "The boiler of a steam engine drives the mill.")
    await library.tend()
    model = await library.store.vectors.current()
    assert model
    rows = await library.store.database.fetch("embedding_of", {"id": cats})
    assert sorted(row.own for row in rows) == [False] * 5 + [True]
    own = await library.store.vectors.get(model, next(row.hash for row in rows if row.own))
    taken = await library.search._vector_of(cats, model)
    assert own is not None
    assert taken is not None
    assert taken.tolist() == own.tolist()
    assert keys(await library.search.similar(cats))[0] == "Kitten"


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
async def test_a_wide_filter_is_answered_however_far_its_items_are(
    library: Library, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """ANCESTORS 49: filters ran after the top k. They still did where more items met them than are named."""
    monkeypatch.setattr("detent.store.ledger.filtering.MOST_NAMED", 1)
    monkeypatch.setattr("detent.search.meaning.DEEP", 60)
    await library.put("near", *(f"A garden with flowers, number {number}." for number in range(130)))
    for number in range(3):
        await library.put(f"far/{number}", f"The engine of lorry {number} has pistons.", category="far")
    await library.tend()
    answer = await library.search.search("flowers", mode=mode, filters=Filters(categories=["far"]))
    assert set(keys(answer)) == {"far/0", "far/1", "far/2"}
    assert answer.notes == ()


async def judged(library: Library, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The texts that are compared with a query's phrases, as they are."""
    found: list[int] = []
    meeting = library.store.texts.meeting

    async def note(query: Asked, items: Collection[int]) -> set[int]:
        found.extend(items)
        return await meeting(query, items)

    monkeypatch.setattr(library.store.texts, "meeting", note)
    return found


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
async def test_a_rare_phrase_far_away_is_found_without_reading_what_is_nearer(
    library: Library, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    await library.put("near", *(f"A garden with flowers, number {number}." for number in range(130)))
    await library.put("far", "The lorry's engine has four brass pistons.")
    await library.tend()
    texts = await judged(library, monkeypatch)
    answer = await library.search.search('flowers "brass pistons"', mode=mode)
    assert (keys(answer), answer.notes, texts) == (["far"], (), [])
    assert keys(await library.search.search('flowers "golden pistons"', mode=mode)) == []


async def test_where_not_all_can_be_compared_with_a_phrase_the_other_words_still_lead_to_it(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best for the phrase's words alone are not the best for the query: nothing else may be hidden by them."""
    monkeypatch.setattr(search, "VERIFIED", 2000)
    sections = [Child("Section", f"s/{n}", Node("", "brass engine pistons")) for n in range(4000)]
    await put(library, "many", Node("many"), *sections)
    await library.put("first", "Brass pistons, brass pistons.")
    await library.put("heron", f"A heron at the canal. {'Water and reed. ' * 40} Brass pistons.")
    await library.tend()
    for mode in ("text", "hybrid"):
        answer = await library.search.search('heron canal "brass pistons"', mode=mode)
        assert "heron" in keys(answer), mode
    assert "Only the best 2,000 candidates were compared with the query's phrases." in answer.notes


@pytest.mark.parametrize("mode", ["text", "semantic", "hybrid"])
@pytest.mark.parametrize("query", ['animal "the"', "animal -the"])
async def test_what_is_not_heeded_is_told_in_every_mode(library: Library, mode: str, query: str) -> None:
    await library.declare("books")
    await library.store.sources.set_language("books", "english")
    await library.put("Cat", "A cat is a furry animal.", source="books")
    await library.tend()
    answer = await library.search.search(query, mode=mode, filters=Filters(sources=["books"]))
    assert keys(answer) == ["Cat"]
    assert answer.notes == ("“the” has only words that are too common or too long, and is ignored.",)


async def test_where_many_have_a_phrase_each_text_is_compared_once_and_an_end_is_told(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detent.search.phrases.MOST_HAVING", 2)
    await library.put("near", *(f"A garden with flowers, number {number}." for number in range(130)))
    for number in range(3):
        await library.put(f"far/{number}", f"The lorry's engine has {number} brass pistons.")
    await library.tend()
    texts = await judged(library, monkeypatch)
    answer = await library.search.search('flowers "brass pistons"', mode="semantic")
    assert (len(answer.hits), answer.notes) == (3, ())
    assert len(texts) == len(set(texts))
    monkeypatch.setattr("detent.search.meaning.MOST_JUDGED", 100)
    answer = await library.search.search('flowers "brass pistons"', mode="semantic")
    assert answer.notes == ("Only the nearest 100 texts were compared with the query's phrases.",)


async def test_a_phrase_that_is_not_heeded_in_a_language_hides_nothing_that_is_in_it(library: Library) -> None:
    """In one language "to be" has only stop words, so that every text meets it; in the other it must occur."""
    await library.declare("books")
    await library.store.sources.set_language("books", "english")
    await library.put("Cat", "A cat is a furry animal.", source="books")
    await library.put("Dog", "A dog is a loyal animal.")
    await library.put("Mouse", "A mouse has to be small.")
    await library.tend()
    assert set(keys(await library.search.search('animal "to be"', mode="semantic"))) == {"Cat", "Mouse"}


async def test_without_the_index_of_words_phrases_hold_by_meaning(library: Library, query: Query) -> None:
    await library.put("Cat", "A cat is a furry animal.")
    await library.put("Dog", "A dog is a loyal animal.")
    await library.tend()
    query("DROP TABLE posting")
    assert keys(await library.search.search('cat "loyal animal"', mode="semantic")) == ["Dog"]


async def test_a_title_is_suggested_though_a_thousand_sections_come_before_it(library: Library) -> None:
    sections = [Child("Section", f"r/{number}", Node("References", "")) for number in range(1001)]
    await put(library, "Renaissance", Node("Renaissance"), *sections)
    found = await library.search.suggest("re")
    assert [(each.title, each.label) for each in found] == [("Renaissance", "Article"), ("References", "Section")]
    assert [each.title for each in await library.search.suggest("RE", limit=1)] == ["Renaissance"]
    sections_only = await library.search.suggest("re", filters=Filters(labels=["Section"]))
    assert [each.title for each in sections_only] == ["References"]


async def explained(library: Library, statement: str, parameters: dict[str, Any]) -> str:
    async with library.store.database.connection() as connection:
        cursor = await connection.execute("EXPLAIN " + statement, parameters)
        return "\n".join(row[0] for row in await cursor.fetchall())


async def test_titles_and_dates_are_looked_up_in_their_indexes(library: Library) -> None:
    """Even by a plan that is made for any beginning: one with LIKE would read every title."""
    for number in range(30):
        await library.put(f"{number} gardens", "A garden.", "Another one.", date=f"20{number:02}")
    statement = SQL["suggestions"]
    for place, name in enumerate(("typed", "kinds", "limit"), start=1):
        statement = statement.replace(f"%({name})s", f"${place}")
    async with library.store.database.connection() as connection:
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        await connection.execute(f"PREPARE suggested (text, integer[], bigint) AS {statement}")
        cursor = await connection.execute("EXPLAIN EXECUTE suggested ('1', '{1,2,3}', 10)")
        plan = "\n".join(row[0] for row in await cursor.fetchall())
        await connection.execute("RESET plan_cache_mode")
    assert "Index Scan using node_title " in plan
    assert "Index Scan using node_passage_title " in plan
    assert plan.count("~>=~ lower(") == 2
    assert len([line for line in plan.splitlines() if "Index Cond" in line and "~<=~" in line]) == 2, plan
    dates = (sql.SQL("SELECT item_id FROM node WHERE ") + _CONDITIONS["since"]).as_string()
    assert "node_date" in await explained(library, dates, {"since": "2024"})


async def test_what_belongs_to_too_many_is_not_looked_up(library: Library) -> None:
    for number in range(4):
        await library.put(f"docs/{number}", "A garden.", "Another one.")
    kind = await library.store.kinds.get("wiki", "Article")
    statement = _MATCHING.format(condition=_CONDITIONS["labels"]).as_string()
    asked = {"kinds": [kind.id], "labels": [kind.id]}
    for limit, looked_up in ((4, False), (5, True), (None, True)):
        plan = await explained(library, "(ANALYZE) " + statement, asked | {"limit": limit})
        [line] = [line for line in plan.splitlines() if "WorkTable Scan" in line]
        assert ("never executed" not in line) == looked_up, plan


@pytest.mark.parametrize("most_named", [20_000, 0], ids=["named", "wide"])
async def test_a_filter_sees_what_a_passage_of_a_passage_belongs_to(
    library: Library, query: Query, monkeypatch: pytest.MonkeyPatch, most_named: int
) -> None:
    monkeypatch.setattr("detent.store.ledger.filtering.MOST_NAMED", most_named)
    await nest(library, query, Node("garden.py", "", {"date": "2020-05", "size": 3}))
    await library.put("lib/other.py", "Other flowers.", category="other", date="2010")
    await library.tend()
    for filters in (
        Filters(prefix="docs/"),
        Filters(since="2020"),
        Filters(until="2020", since="2020"),
        Filters(properties={"size": 3}),
        Filters(labels=["Article"], prefix="docs/"),
        Filters(labels=["Section"], prefix="docs/"),
        Filters(labels=["Section"], since="2020", properties={"size": 3}),
    ):
        for mode in ("text", "semantic", "hybrid"):
            found = await library.search.search("flowers", mode=mode, filters=filters, grouped=False)
            assert "grow" in keys(found), (filters, mode)
            assert "lib/other.py/0" not in keys(found), (filters, mode)
    grouped = await library.search.search("flowers", filters=Filters(prefix="docs/"), limit=1)
    assert [(hit.key, hit.passage) for hit in grouped.hits] == [("docs/garden.py", "grow")]


@pytest.mark.parametrize("most_named", [20_000, 3, 0], ids=["named", "some named", "wide"])
async def test_each_filter_is_met_by_a_passage_or_by_what_it_belongs_to(
    library: Library, monkeypatch: pytest.MonkeyPatch, most_named: int
) -> None:
    monkeypatch.setattr("detent.store.ledger.filtering.MOST_NAMED", most_named)
    await library.put("Park", "A park has flowers.", category="green", date="2020")
    await library.put("Lawn", "A lawn has flowers.", category="green", date="2010")
    await library.put("Vase", "A vase has flowers.", category="glass", date="2020")
    await library.tend()
    everything = Filters(sources=["wiki"], labels=["Section"], categories=["green"], since="2020")
    for mode in ("text", "semantic", "hybrid"):
        found = await library.search.search("flowers", mode=mode, filters=everything, grouped=False)
        assert keys(found) == ["Park/0"], mode
        within = Filters(labels=["Section"], since="2015", until="2019")
        assert keys(await library.search.search("flowers", mode=mode, filters=within)) == [], mode


async def test_what_is_like_something_without_text_is_what_is_like_all_that_belongs_to_it(
    library: Library, query: Query
) -> None:
    await nest(library, query, Node("garden.py", ""))
    await library.put("Park", "A park has flowers.")
    await library.tend()
    number = await library.number("docs/garden.py")
    assert keys(await library.search.similar(number)) == ["Park"]
    rows = await library.store.database.fetch("embedding_of", {"id": number})
    assert [row.own for row in rows] == [False, False]

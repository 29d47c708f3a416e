"""Search in all its modes: what is found, what it carries, what filters do, and what is told when a part fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, register
from detent.embedding.provider import Vectors
from detent.errors import UnknownName
from detent.knowledge import Done
from detent.knowledge.filters import Filters
from detent.knowledge.query import parse
from detent.lifecycle import ARTICLE
from detent.search import MODES, Answer, Search
from detent.search.meaning import NO_VECTORS
from detent.search.search import MOST_TITLED
from detent.store import Stage
from detent.store.ledger import filtering
from detent.store.ledger.filtering import MOST_NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.search.conftest import Library

Query = Callable[..., list[Any]]

ANIMALS = {
    "Cat": ["A cat is a small furry animal that catches mice and purrs.", "Kittens are young cats."],
    "Dog": ["A dog is a loyal animal that barks and guards the house.", "Puppies are young dogs."],
    "Whale": ["A whale is a huge mammal that lives in the ocean and sings songs."],
    "Steam engine": ["A steam engine turns the pressure of hot water vapour into motion.", "Watt improved it."],
    "Piano": ["A piano is an instrument with keys and strings that is played in concerts."],
}


@pytest.fixture
async def animals(library: Library) -> Library:
    for key, sections in ANIMALS.items():
        category = "animals" if "animal" in sections[0] or "mammal" in sections[0] else "things"
        await library.put(key, *sections, category=category, url=f"https://example.org/{key}", date=f"20{len(key):02}")
    await library.tend()
    return library


def keys(answer: Answer) -> list[str]:
    return [hit.key for hit in answer.hits]


@pytest.fixture
async def ghana(library: Library) -> Library:
    for number in range(30):
        await library.put(f"Ghana {number}", "Ghana, Ghana: of Ghana and Ghana.", category="Ghana")
    await library.put("Ghana", "", "A country in West Africa.", "Its capital is Accra.", year=1957)
    await library.store.add("wiki", "Article", ["Gold Coast"])
    kind = await library.store.kinds.get("wiki", "Article")
    [name] = await library.store.claim(Stage(ARTICLE, "discovered"), owner="w", kinds=[kind])
    await library.store.settle([(name, Done(alias_of="Ghana", to="loaded"))])
    await library.tend()
    return library


@pytest.mark.parametrize("typed", ["Ghana", "  ghana ", "Gold Coast"])
async def test_what_is_called_exactly_what_was_typed_comes_first(ghana: Library, typed: str) -> None:
    first, second, *_ = (await ghana.search.search(typed)).hits
    assert (first.key, first.passage, first.snippet) == ("Ghana", "Ghana/1", "A country in West Africa.")
    assert first.parts["title"] == 1.0
    assert "title" not in second.parts


@pytest.mark.parametrize("typed", ['"Ghana"', "Ghana -country", "Ghana Ghana", "Gha"])
async def test_what_is_not_called_exactly_so_is_found_by_words_and_meaning_alone(ghana: Library, typed: str) -> None:
    assert not any("title" in hit.parts for hit in (await ghana.search.search(typed)).hits)


@pytest.mark.parametrize("mode", ["text", "semantic"])
async def test_titles_count_in_no_other_mode(ghana: Library, mode: str) -> None:
    assert not any("title" in hit.parts for hit in (await ghana.search.search("Ghana", mode=mode)).hits)


@pytest.mark.parametrize("most_named", [0, MOST_NAMED])
async def test_filters_hold_for_what_is_called_so_too(
    ghana: Library, monkeypatch: pytest.MonkeyPatch, most_named: int
) -> None:
    monkeypatch.setattr(filtering, "MOST_NAMED", most_named)
    for year, found in ((1957, True), (1960, False)):
        hits = (await ghana.search.search("Ghana", filters=Filters(properties={"year": year}))).hits
        assert any("title" in hit.parts for hit in hits) is found
    assert (await ghana.search.search("Ghana", filters=Filters(sources=("wiki",)))).hits[0].key == "Ghana"


@pytest.mark.parametrize("most_named", [0, MOST_NAMED])
async def test_of_many_that_are_called_so_those_come_first_that_the_filters_leave(
    library: Library, monkeypatch: pytest.MonkeyPatch, most_named: int
) -> None:
    for number in range(MOST_TITLED + 5):
        await library.put(f"Mercury {number}", "", "A planet.", year=number)
    await library.put("Other", "Mercury, Mercury, Mercury.", year=MOST_TITLED + 4)
    async with library.store.database.connection() as connection:
        await connection.execute("UPDATE node SET title = 'Mercury' WHERE title LIKE 'Mercury %' AND parent_id IS NULL")
    await library.tend()
    monkeypatch.setattr(filtering, "MOST_NAMED", most_named)
    for year in (0, MOST_TITLED + 4):
        [first, *_] = (await library.search.search("mercury", filters=Filters(properties={"year": year}))).hits
        assert first.key == f"Mercury {year}"
    assert all("title" in hit.parts for hit in (await library.search.search("mercury", limit=MOST_TITLED)).hits)


async def test_a_passage_that_the_filters_leave_stands_for_what_is_called_so(ghana: Library) -> None:
    [first, *_] = (await ghana.search.search("Ghana", filters=Filters(prefix="Ghana/2"))).hits
    assert (first.key, first.passage, first.parts["title"]) == ("Ghana", "Ghana/2", 1.0)


@pytest.mark.parametrize("mode", ["text", "semantic", "hybrid"])
async def test_the_best_article_comes_first_with_its_best_passage(animals: Library, mode: str) -> None:
    answer = await animals.search.search("furry animal that catches mice", mode=mode, marks=("<", ">"))
    hit = answer.hits[0]
    assert (hit.key, hit.title, hit.source, hit.label) == ("Cat", "Cat", "wiki", "Article")
    assert (hit.passage, hit.link) == ("Cat/0", "https://example.org/Cat")
    assert answer.notes == ()
    assert "<mice>" in hit.snippet
    assert set(hit.parts) == ({"text", "semantic"} if mode == "hybrid" else {mode})
    assert len(set(keys(answer))) == len(answer.hits)


@pytest.mark.parametrize("mode", MODES)
async def test_phrases_and_exclusions_hold_in_every_mode(animals: Library, mode: str) -> None:
    around = [await animals.number(key) for key in ANIMALS] if mode == "graph" else []

    async def found(text: str) -> set[str]:
        return set(keys(await animals.search.search(text, mode=mode, around=around, grouped=False)))

    assert "Cat/0" in await found("small furry animal")
    assert "Cat/0" not in await found("small furry animal -mice")
    assert await found('animal "guards the house"') == {"Dog/0"}


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("load(id: string): Promise<Zebra> { return go(id) }", ("Zebra", "Promise", "return"), "Promise<[Zebra]>"),
        ("self.items.append(entry) # in order", ("append", "items", '"items.append"'), "self.items.[append](entry)"),
        ("see /usr/local/walrus/file.txt and notes", ("walrus", "local", "file.txt"), "local/[walrus]/file"),
        ("#include <gnuhorn.h> // for all", ("gnuhorn", "include"), "[gnuhorn]"),
        ('return <Header title="gazelle">x</Header>;', ("gazelle", "header"), 'title="[gazelle]"'),
        ("version 3.14.1 of it is old", ("3.14.1", '"3.14"', "version"), "version [3].[14].[1]"),
    ],
)
async def test_words_are_found_beside_the_signs_of_code(
    library: Library, text: str, words: tuple[str, ...], shown: str
) -> None:
    await library.put("Other", "something else")
    await library.put("Code", text)
    await library.tend()
    answers = [await library.search.search(word, mode="text", marks=("[", "]")) for word in words]
    assert [keys(answer) for answer in answers] == [["Code"]] * len(words)
    assert shown in str(answers[0].hits[0].snippet)


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("日本語の梟は夜に狩りをする", ("梟", "日本", '"日本語"', "は夜に"), "日本語の[梟]は夜に"),
        ("高さ三百メートルの東京タワーは赤い", ("東京", "東京タワー", "メートル"), "メートルの[東京]タワー"),
        ("北京是中国的首都\U00020bb7", ("首都", '"中国的"', "\U00020bb7"), "中国的[首都]"),
        (
            "「アラン・チューリング」、数学者。",
            ("チューリング", '"チューリング、数学"'),
            "アラン・[チューリング]」、数学",
        ),
        ("올빼미는 밤에 사냥한다", ("밤에", "올빼미는"), "올빼미는 [밤에]"),
    ],
)
async def test_words_are_found_where_nothing_stands_between_them(
    library: Library, text: str, words: tuple[str, ...], shown: str
) -> None:
    await library.put("Other", "something else")
    await library.put("Text", text)
    await library.put("Long", f"{text}. " + "and more " * 3000)
    await library.tend()
    answers = [await library.search.search(word, mode="text", marks=("[", "]")) for word in words]
    assert [{"Text", "Long"} <= set(keys(answer)) for answer in answers] == [True] * len(words)
    assert shown in str(answers[0].hits[0].snippet)


@pytest.mark.parametrize(
    "text",
    [
        "the \u201cowl\u201d",
        "hunts\u2014owl\u2026",
        "\u2018owl\u2019s",
        "\u00abowl\u00bb",
        "1914\u2013owl",
        "owl\u00a0nest",
    ],
)
async def test_words_are_found_beside_signs_that_are_not_of_ascii(library: Library, text: str) -> None:
    await library.put("Other", "something else")
    await library.put("Text", text)
    await library.tend()
    [hit] = (await library.search.search("owl", mode="text", marks=("[", "]"))).hits
    assert (hit.key, "[owl]" in hit.snippet) == ("Text", True)


async def test_a_character_that_is_excluded_twice_in_a_row_may_stand_once(library: Library) -> None:
    await library.put("Once", "妈是好人")
    await library.put("Twice", "妈妈是好人")
    await library.tend()
    assert keys(await library.search.search("是 -妈妈", mode="text")) == ["Once"]
    assert keys(await library.search.search("是 -妈", mode="text")) == []


async def test_characters_in_quotes_stand_side_by_side(library: Library) -> None:
    await library.put("Tokyo", "ここは東京である")
    await library.put("Kyoto", "東にある京都")
    await library.tend()
    assert set(keys(await library.search.search("東京", mode="text"))) == {"Tokyo", "Kyoto"}
    assert keys(await library.search.search('"東京"', mode="text")) == ["Tokyo"]


async def test_ungrouped_every_passage_is_a_result_of_its_own(animals: Library) -> None:
    answer = await animals.search.search("young cats", grouped=False)
    assert answer.hits[0].key == "Cat/1"
    assert answer.hits[0].passage is None
    assert {"Cat/0", "Cat/1"} <= set(keys(answer))


async def test_meaning_finds_what_words_do_not(animals: Library) -> None:
    """ANCESTORS 49: search needed an existing title."""
    assert keys(await animals.search.search("feline pets", mode="text")) == []
    assert keys(await animals.search.search("feline pets"))[0] == "Cat"


async def test_a_narrow_filter_still_finds_all_there_is(library: Library) -> None:
    """ANCESTORS 49: filters ran after the top k, so that a narrow filter found nothing."""
    for number in range(300):
        is_rare = number % 100 == 7
        await library.put(
            f"{'rare' if is_rare else 'plain'}/{number}",
            f"The same words about gardens and number {number} {'' if is_rare else 'gardens gardens'}",
            category="rare" if is_rare else "plain",
            date="2020-05-01" if is_rare else "2019-01-01",
            place={"country": "FR" if is_rare else "DE"},
        )
    await library.declare("other")
    await library.put("elsewhere", "gardens elsewhere", source="other")
    await library.tend()
    rare = {"rare/7", "rare/107", "rare/207"}
    for filters in (
        Filters(categories=["rare"]),
        Filters(properties={"place": {"country": "FR"}}),
        Filters(since="2020"),
        Filters(since="2020-05", until="2020-05"),
        Filters(prefix="rare/"),
        Filters(prefix="rare/", labels=["Article"], sources=["wiki"]),
        Filters(prefix="rare/", labels=["Section"]),
    ):
        for mode in ("text", "semantic", "hybrid"):
            answer = await library.search.search("gardens", mode=mode, filters=filters, limit=3)
            assert set(keys(answer)) == rare, (filters, mode)
    assert keys(await library.search.search("gardens", filters=Filters(sources=["other"]))) == ["elsewhere"]
    assert len(keys(await library.search.search("gardens", filters=Filters(labels=["Section"]), limit=50))) == 50
    assert keys(await library.search.search("gardens", filters=Filters(since="2021"))) == []


async def test_a_wide_filter_is_checked_as_results_are_found(animals: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detent.store.ledger.filtering.MOST_NAMED", 1)
    for mode in ("text", "semantic", "hybrid"):
        found = keys(await animals.search.search("animal", mode=mode, filters=Filters(categories=["animals"])))
        assert set(found) <= {"Cat", "Dog", "Whale"}
        assert {"Cat", "Dog"} <= set(found)


async def test_an_unknown_source_label_or_mode_is_told(animals: Library) -> None:
    for wrong in ({"filters": Filters(sources=["wikki"])}, {"filters": Filters(labels=["Artikel"])}, {"mode": "fast"}):
        with pytest.raises(UnknownName):
            await animals.search.search("cat", **wrong)


async def test_around_given_nodes_the_near_comes_before_the_far(library: Library) -> None:
    for key, links in {"home": ("near",), "near": ("far",), "far": ("beyond",), "beyond": (), "island": ()}.items():
        await library.put(key, "A text about gardens and flowers.", links=links)
    await library.tend()
    home = await library.number("home")
    answer = await library.search.search("flowers", mode="graph", around=[home])
    assert keys(answer) == ["home", "near", "far"]
    assert "island" not in keys(answer)
    assert answer.hits[0].score > answer.hits[1].score > answer.hits[2].score
    flat = await library.search.search("flowers", mode="graph", around=[home], weights=(1.0, 0.0))
    assert max(hit.score for hit in flat.hits) - min(hit.score for hit in flat.hits) < 0.2
    with pytest.raises(UnknownName, match="none is given"):
        await library.search.search("flowers", mode="graph")


async def test_similar_articles_are_found_by_an_article_or_a_section(animals: Library) -> None:
    for key in ("Cat", "Cat/0"):
        answer = await animals.search.similar(await animals.number(key), limit=3)
        assert keys(answer)[0] == "Dog"
        assert "Cat" not in keys(answer)
    answer = await animals.search.similar(await animals.number("animals"))
    assert (answer.hits, len(answer.notes)) == ((), 1)


async def test_titles_are_suggested_while_they_are_typed(animals: Library) -> None:
    assert [each.title for each in await animals.search.suggest("ca")] == ["Cat", "Cat 0", "Cat 1"]
    assert next(each.title for each in await animals.search.suggest("STEAM")) == "Steam engine"
    labelled = await animals.search.suggest("c", filters=Filters(labels=["Article"]))
    assert [(each.title, each.label) for each in labelled] == [("Cat", "Article")]
    for odd in ("", "  ", "%", "_", "\\", "\x00", "\ud800", "x" * 10_000):
        assert await animals.search.suggest(odd) == []


async def test_what_changed_is_found_as_it_is_now_and_what_went_is_not_found(animals: Library) -> None:
    """ANCESTORS 21: edited documents were never indexed again, and deletions were computed and not used."""
    await animals.put("Cat", "Now this is about submarines.")
    assert keys(await animals.search.search("submarines", mode="text")) == ["Cat"]
    assert keys(await animals.search.search("purrs", mode="text")) == []
    await animals.tend()
    assert keys(await animals.search.search("submarines"))[0] == "Cat"
    await animals.store.remove("wiki", "Article", ["Cat"])
    for mode in ("text", "semantic", "hybrid"):
        assert "Cat" not in keys(await animals.search.search("submarines", mode=mode))


class Broken(Provider):
    name, model, dimensions, batch_size = "broken", "none", 8, 1

    def __init__(self, settings: EmbeddingSettings) -> None:
        return

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise ConnectionError("nobody answers")


async def test_a_part_that_fails_is_named_while_the_other_answers(
    animals: Library, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ANCESTORS 50: errors from the vector index came back as an empty result."""
    register("broken", Broken)
    query("UPDATE model SET provider = 'broken', name = 'none'")
    answer = await Search(animals.store, EmbeddingSettings(provider="broken")).search("cat")
    assert keys(answer)[0] == "Cat"
    assert answer.notes == ("Searching by meaning failed: nobody answers.",)
    answer = await Search(animals.store, EmbeddingSettings(provider="broken")).search("cat", mode="semantic")
    assert (answer.hits, len(answer.notes)) == ((), 1)


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "graph"])
async def test_where_nothing_asked_for_has_a_vector_a_search_by_meaning_says_so(animals: Library, mode: str) -> None:
    await animals.declare("notes")
    await animals.put("Cat notes", "A cat purrs.", source="notes", year=2026)
    around = (await animals.number("Cat notes"),) if mode == "graph" else ()
    for filters in (Filters(sources=("notes",)), Filters(properties={"year": 2026})):
        answer = await animals.search.search("cat", mode=mode, filters=filters, around=around)
        assert NO_VECTORS in answer.notes
    await animals.tend()
    answer = await animals.search.search("cat", mode=mode, filters=Filters(sources=("notes",)), around=around)
    assert (keys(answer), answer.notes) == (["Cat notes"], ())


@pytest.mark.parametrize("text", ["cat", 'cat "no such phrase"', "animal -animal -mammal -instrument -engine -cats"])
async def test_what_a_phrase_or_an_exclusion_leaves_out_is_not_said_to_have_no_vector(
    animals: Library, text: str
) -> None:
    for filters in (None, Filters(categories=("no such category",))):
        assert NO_VECTORS not in (await animals.search.search(text, mode="semantic", filters=filters)).notes


async def test_without_its_text_index_search_answers_by_meaning_and_says_so(animals: Library, query: Query) -> None:
    query("DROP TABLE posting")
    answer = await animals.search.search("cat")
    assert keys(answer)[0] == "Cat"
    assert "Searching by words failed" in answer.notes[0]


async def test_without_its_vectors_search_answers_by_words_and_says_so(animals: Library, query: Query) -> None:
    for row in query("SELECT name FROM vector_part"):
        query(f"DROP TABLE {row.name}")
    answer = await animals.search.search("cat")
    assert keys(answer)[0] == "Cat"
    assert answer.notes


ODD = [
    "",
    " ",
    '"',
    '""',
    "-",
    "--",
    '-"',
    "or",
    "or or",
    "the of and",
    "🦕",
    "שלום עולם",
    "x" * 100_000,
    "\x00",
    "\ud800",
    "a" * 5000 + " cat",
    "'; DROP TABLE node; --",
    "%s %(x)s {}",
    "cat " * 5000,
    '"cat',
    "cat or",
    "()&|!:*<->",
]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_any_input_is_safe(animals: Library, text: str) -> None:
    """By words nothing may be found. By meaning something always is, unless a note says why not; and so does one where
    there is nothing to look for."""
    around = [await animals.number("Cat")]
    for mode in MODES:
        answer = await animals.search.search(text, mode=mode, around=around if mode == "graph" else ())
        if mode != "text" or not parse(text).sought:
            assert answer.hits or answer.notes, mode


@pytest.mark.parametrize("mode", ["text", "semantic", "hybrid"])
async def test_one_note_says_why_there_is_nothing_to_look_for(animals: Library, mode: str) -> None:
    signs = "The query has only punctuation; it needs at least one word to search for."
    for text, note in {"": "The query is empty.", "\n ": "The query is empty.", '"': signs, "🦦🚂": signs}.items():
        answer = await animals.search.search(text, mode=mode)
        assert (answer.hits, answer.notes) == ((), (note,))


async def test_a_word_that_is_too_long_is_not_called_common(animals: Library) -> None:
    answer = await animals.search.search("x" * 100_000, mode="text")
    assert answer.notes[1:] == ("The query has only words of more than 2,046 bytes, which are not indexed.",)
    for text in ("x" * 2047, "é" * 1024):
        assert "of more than 2,046 bytes" in (await animals.search.search(text, mode="text")).notes[0]
    assert (await animals.search.search("x" * 2046, mode="text")).notes == ()


async def test_where_nothing_is_found_a_category_that_does_not_exist_is_told(animals: Library) -> None:
    async def notes(text: str, *categories: str) -> tuple[str, ...]:
        return (await animals.search.search(text, mode="text", filters=Filters(categories=categories))).notes

    assert await notes("cat", "Animal") == ("There is no category 'Animal'. Did you mean 'animals'?",)
    assert await notes("cat", "furniture", "plants") == (
        "There is no category 'furniture'.",
        "There is no category 'plants'.",
    )
    assert await notes("cat", "things") == ()
    assert await notes("cat", "animals", "plants") == ()
    number = await animals.number("Cat")
    answer = await animals.search.similar(number, filters=Filters(categories=["thing"]))
    assert answer.notes == ("There is no category 'thing'. Did you mean 'things'?",)


@given(st.text(max_size=60), st.sampled_from(["text", "semantic", "hybrid"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_at_all_is_safe(animals: Library, text: str, mode: str) -> None:
    await animals.search.search(text, mode=mode)
    await animals.search.suggest(text)


async def test_modes_are_those_that_are_documented() -> None:
    assert MODES == ("hybrid", "text", "semantic", "graph")


@pytest.mark.parametrize("mode", ["text", "semantic", "hybrid"])
async def test_quotes_and_minus_hold_in_every_mode(animals: Library, mode: str) -> None:
    assert "Cat" not in keys(await animals.search.search("young animal -mice", mode=mode, grouped=False))
    found = await animals.search.search("young animal -mice", mode=mode, grouped=False)
    assert "Cat/0" not in keys(found)
    assert "Dog/1" in keys(found)
    assert keys(await animals.search.search('animal "guards the house"', mode=mode)) == ["Dog"]
    assert set(keys(await animals.search.search('"guards the house" or "catches mice"', mode=mode))) == {"Dog", "Cat"}

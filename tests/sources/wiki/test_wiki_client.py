"""The questions that a wiki's API is asked, against one that speaks it over a socket."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from tests.sources.wiki.server import AWAY, STALLED, WikiServer

from detent.lifecycle import Trouble
from detent.services.failure import ServiceFailed
from detent.sources.wiki.client import Client, Revision, WikiFailed
from detent.sources.wiki.pages import Absent, Moved, Page

PAGES = {
    "Cat": "A [[pet]] that purrs. [[Category:Pets]] [[Category:Pages with dates]]",
    "Cats": "#REDIRECT [[Cat]]",
    "House cats": "#REDIRECT [[Cats]]",
    "Purring": "#REDIRECT [[Cat#Sounds]]",
    "Dog": "A [[pet]] that barks. [[Category:Pets]]",
    "Mercury": "A planet, or a metal. __DISAMBIG__",
    "Left": "#REDIRECT [[Right]]",
    "Right": "#REDIRECT [[Left]]",
    "Narcissus": "#REDIRECT [[Narcissus]]",
    "Nowhere": "#REDIRECT [[Utopia]]",
    "Abroad": "#REDIRECT [[de:Katze]]",
    "Changes": "#REDIRECT [[Special:Changes]]",
    "Category:Pets": "[[Category:Animals]]",
    "Category:Pages with dates": "__HIDDENCAT__",
    "Category:Animals": "[[Category:Pets]]",
    "Talk:Cat": "Really? [[Category:Pets]]",
    "Fox": "Wild. [[Category:Animals]]",
}


@pytest.fixture
def wiki() -> Iterator[WikiServer]:
    with WikiServer(PAGES) as running:
        yield running


@pytest.fixture
async def client(wiki: WikiServer) -> AsyncIterator[Client]:
    async with Client(wiki.api, "Tester/1 (tester@example.org)") as opened:
        yield opened


def numbered(many: int) -> dict[str, str]:
    return {f"Page {number}": f"Text {number}. [[Category:Kind {number % 3}]]" for number in range(many)}


async def test_a_page_is_told_with_all_there_is_to_know_of_it(wiki: WikiServer, client: Client) -> None:
    answer = (await client.fetch(["Cat"]))["Cat"]
    stored = wiki.pages["Cat"]
    assert answer == Page(
        title="Cat",
        id=stored.id,
        revision=stored.revision,
        text=stored.text,
        length=len(stored.text),
        edited=stored.edited,
        hidden=frozenset({"Pages with dates"}),
    )


async def test_fifty_titles_need_one_request_and_fifty_one_need_two(wiki: WikiServer, client: Client) -> None:
    for title, text in numbered(51).items():
        wiki.edit(title, text)
    await client.fetch([f"Page {number}" for number in range(50)])
    assert len(wiki.requests) == 1
    answers = await client.fetch([f"Page {number}" for number in range(51)])
    assert len(wiki.requests) == 3
    assert {title: answer.text for title, answer in answers.items() if isinstance(answer, Page)} == numbered(51)


async def test_a_title_asked_for_twice_is_sent_once(wiki: WikiServer, client: Client) -> None:
    assert len(await client.fetch(["Cat", "Dog", "Cat"])) == 2
    assert wiki.requests[0].parameters["titles"] == "Cat|Dog"
    await client.fetch(["Cat"] * 60)
    assert len(wiki.requests) == 2


async def test_no_titles_are_no_request(wiki: WikiServer, client: Client) -> None:
    assert await client.fetch([]) == {}
    assert wiki.requests == []


async def test_a_title_spelled_otherwise_is_another_name_of_the_page(client: Client) -> None:
    answer = (await client.fetch(["_cat"]))["_cat"]
    assert isinstance(answer, Moved)
    assert (answer.title, answer.fragment) == ("Cat", "")
    assert answer.page is not None
    assert answer.page.text == PAGES["Cat"]


@pytest.mark.parametrize(
    ("asked", "fragment"), [("Cats", ""), ("house_cats", ""), ("Purring", "Sounds"), ("purring", "Sounds")]
)
async def test_redirects_are_followed_to_their_end(client: Client, asked: str, fragment: str) -> None:
    answer = (await client.fetch([asked]))[asked]
    assert isinstance(answer, Moved)
    assert (answer.title, answer.fragment) == ("Cat", fragment)
    assert answer.page is not None


async def test_several_titles_of_one_page_have_their_answer_each(client: Client) -> None:
    answers = await client.fetch(["Cat", "cat", "Cats", "House cats", "Purring"])
    assert isinstance(answers["Cat"], Page)
    assert [answer.page for answer in answers.values() if isinstance(answer, Moved)] == [answers["Cat"]] * 4


async def test_a_title_in_another_variant_of_the_language_is_found() -> None:
    with WikiServer({"Beograd": "A city."}, variants={"Београд": "Beograd"}) as wiki:
        async with Client(wiki.api, "Tester") as client:
            answer = (await client.fetch(["београд"]))["београд"]
    assert isinstance(answer, Moved)
    assert answer.title == "Beograd"


async def test_a_title_in_another_normal_form_is_found(wiki: WikiServer, client: Client) -> None:
    wiki.edit("Café", "Coffee.")
    apart = unicodedata.normalize("NFD", "Café")
    answers = await client.fetch([apart, "Café"])
    assert isinstance(answers["Café"], Page)
    assert answers[apart] == Moved("Café", "", answers["Café"])
    assert await client.fetch([apart]) == {apart: answers[apart]}


@pytest.mark.parametrize(
    ("asked", "trouble", "words"),
    [
        ("Unicorn", Trouble.NOT_FOUND, "does not exist"),
        ("unicorn", Trouble.NOT_FOUND, "does not exist"),
        ("Nowhere", Trouble.NOT_FOUND, "redirects to Utopia, which does not exist"),
        ("Left", Trouble.REJECTED, "loop: Left → Right → Left"),
        ("right", Trouble.REJECTED, "loop: right → Right → Left → Right"),
        ("Narcissus", Trouble.REJECTED, "loop"),
        ("De:Katze", Trouble.REJECTED, "another wiki (de)"),
        ("Abroad", Trouble.REJECTED, "redirects to de:Katze, a page of another wiki"),
        ("Special:Random", Trouble.REJECTED, "special page"),
        ("Changes", Trouble.REJECTED, "Special:Changes, which is a special page"),
        ("It%27s", Trouble.REJECTED, 'There is "%27" in it.'),
        ("Talk:", Trouble.REJECTED, "It is empty."),
    ],
)
async def test_what_is_no_page_is_absent_for_a_reason(client: Client, asked: str, trouble: Trouble, words: str) -> None:
    answer = (await client.fetch([asked, "Dog"]))[asked]
    assert isinstance(answer, Absent)
    assert answer.trouble is trouble
    assert words in answer.reason


@pytest.mark.parametrize("title", ["", "  ", "a|b", "a\x00b", "a\nb", "a\x1fb", "\ud800"])
async def test_a_title_that_no_wiki_can_be_asked_does_not_disturb_the_others(
    wiki: WikiServer, client: Client, title: str
) -> None:
    answers = await client.fetch([title, "Cat"])
    assert isinstance(answers["Cat"], Page)
    absent = answers[title]
    assert isinstance(absent, Absent)
    assert absent.trouble is Trouble.REJECTED
    assert (await client.revisions([title]))[title].missing
    assert len(wiki.requests) == 1


async def test_a_mark_of_disambiguation_is_told_and_its_lack_only_where_the_wiki_sets_marks(client: Client) -> None:
    async def marks() -> list[bool | None]:
        answers = await client.fetch(["Mercury", "Cat"])
        return [answer.disambiguation for answer in answers.values() if isinstance(answer, Page)]

    assert await marks() == [True, None]
    await client.site()
    assert await marks() == [True, False]


async def test_a_wiki_that_marks_no_disambiguation_says_nothing_of_it() -> None:
    with WikiServer(PAGES, marks_disambiguation=False) as wiki:
        async with Client(wiki.api, "Tester") as client:
            await client.site()
            answer = (await client.fetch(["Mercury"]))["Mercury"]
    assert isinstance(answer, Page)
    assert answer.disambiguation is None


@pytest.mark.parametrize("old", [False, True])
async def test_an_answer_in_pieces_is_put_together(old: bool) -> None:
    pages = {f"Page {number}": "x" * 40 + f"[[Category:A{number}]] [[Category:B{number}]]" for number in range(12)}
    hidden = {f"Category:{letter}{number}": "__HIDDENCAT__" for letter in "AB" for number in range(12)}
    with WikiServer(pages | hidden, bytes_per_answer=200, rows_per_answer=5, old=old) as wiki:
        async with Client(wiki.api, "Tester") as client:
            answers = await client.fetch(list(pages))
        assert len(wiki.requests) == 6
    for number, title in enumerate(pages):
        answer = answers[title]
        assert isinstance(answer, Page)
        assert answer.text == pages[title]
        assert answer.hidden == {f"A{number}", f"B{number}"}


async def test_an_old_wiki_is_understood() -> None:
    with WikiServer(PAGES, old=True) as wiki:
        async with Client(wiki.api, "Tester") as client:
            asked = ["Cats", "Unicorn", "It%27s", "Left", "De:Katze", "Special:Random", "Mercury", "Dog"]
            answers = await client.fetch(asked)
            revisions = await client.revisions(asked)
            assert (await client.site()).own_names[14] == "Category"
    cat = answers["Cats"]
    assert isinstance(cat, Moved)
    assert cat.page is not None
    assert (cat.page.text, cat.page.revision) == (PAGES["Cat"], wiki.pages["Cat"].revision)
    assert [type(answers[title]) for title in asked[1:]] == [Absent] * 5 + [Page] * 2
    assert [revisions[title].missing for title in asked] == [False, True, True, True, True, True, False, False]


async def test_a_wiki_that_takes_fewer_titles_is_asked_for_fewer_from_then_on() -> None:
    with WikiServer(numbered(50), titles_at_once=20) as wiki:
        async with Client(wiki.api, "Tester") as client:
            assert len(await client.fetch(list(numbered(50)))) == 50
            asked = [len(each.parameters["titles"].split("|")) for each in wiki.requests]
            assert asked == [50, 25, 12, 12, 12, 12, 2]
            wiki.requests.clear()
            await client.revisions(list(numbered(24)))
            assert len(wiki.requests) == 2


async def test_a_wiki_that_answers_the_first_of_too_many_titles_is_asked_for_the_others() -> None:
    with WikiServer(numbered(50), titles_at_once=20, truncates=True) as wiki:
        async with Client(wiki.api, "Tester") as client:
            answers = await client.fetch(list(numbered(50)))
            assert len(answers) == 50
        assert len(wiki.requests) == 3


async def test_a_title_of_which_the_wiki_says_nothing_fails_and_the_others_are_kept(
    wiki: WikiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = wiki.answer
    monkeypatch.setattr(
        wiki, "answer", lambda asked: answer({**asked, "titles": asked["titles"].replace("Dog", "Cat")})
    )
    with pytest.raises(WikiFailed, match=r"says nothing of 'Dog'\.") as failed:
        await client.fetch(["Cat", "Dog", "Fox"])
    assert failed.value.trouble is Trouble.SERVER
    assert sorted(failed.value.answered) == ["Cat", "Fox"]


async def test_a_long_list_of_titles_is_posted_and_a_short_one_is_not(wiki: WikiServer, client: Client) -> None:
    titles = [f"Заголовок ещё одной страницы {number}" for number in range(50)]
    for title in titles:
        wiki.edit(title, "Текст.")
    answers = await client.fetch(titles)
    assert all(isinstance(answers[title], Page) for title in titles)
    await client.fetch(titles[:2])
    assert [each.method for each in wiki.requests] == ["POST", "GET"]
    assert wiki.requests[0].headers["Promise-Non-Write-API-Action"] == "true"


async def test_words_that_are_too_many_for_an_address_are_posted(wiki: WikiServer, client: Client) -> None:
    await client.search("fox " * 30_000, 5)
    assert [each.method for each in wiki.requests] == ["POST"]


async def test_what_is_too_long_for_a_title_is_not_asked_for(wiki: WikiServer, client: Client) -> None:
    answers = await client.fetch(["x" * 70_000, "Cat"])
    assert answers["x" * 70_000] == Absent("No title is so long.", Trouble.REJECTED)
    assert wiki.requests[-1].parameters["titles"] == "Cat"


async def test_the_manners_of_a_request(wiki: WikiServer, client: Client) -> None:
    await client.fetch(["Cat"])
    asked = wiki.requests[0]
    assert asked.headers["User-Agent"] == f"Tester/1 (tester@example.org) httpx/{httpx.__version__}"
    assert "gzip" in asked.headers["Accept-Encoding"]
    assert asked.headers["Connection"] == "keep-alive"
    wanted = {"action": "query", "format": "json", "formatversion": "2", "maxlag": "5", "redirects": "1"}
    assert wanted.items() <= asked.parameters.items()


async def test_a_name_that_is_not_ascii_can_be_given_as_contact(wiki: WikiServer) -> None:
    async with Client(wiki.api, "Tester (Jürgen\nMüller)") as client:
        await client.fetch(["Cat"])
    assert wiki.requests[0].headers["User-Agent"].encode("latin-1").decode().startswith("Tester (Jürgen Müller) ")


async def test_each_request_waits_for_its_turn(wiki: WikiServer) -> None:
    for title, text in numbered(60).items():
        wiki.edit(title, text)
    asked: list[tuple[str, int]] = []

    async def turn(host: str) -> None:
        asked.append((host, len(wiki.requests)))

    async with Client(wiki.api, "Tester", turn) as client:
        await client.fetch(list(numbered(60)))
        await client.site()
    assert asked == [(wiki.host, 0), (wiki.host, 1), (wiki.host, 2)]


async def test_no_more_than_two_requests_are_under_way_whoever_asks(wiki: WikiServer) -> None:
    wiki.fail_next(*[STALLED] * 6)
    async with Client(wiki.api, "One") as one, Client(wiki.api, "Two") as two:
        asking = [asyncio.create_task(each.fetch(["Cat"])) for each in [one, two] * 3]
        await asyncio.to_thread(wiki.wait_for_requests, 2)
        wiki.release()
        await asyncio.gather(*asking)
    assert len(wiki.requests) == 6
    assert wiki.most_at_once == 2


async def test_a_failure_is_told_before_another_request_may_go(wiki: WikiServer) -> None:
    told: list[str] = []

    async def turn(host: str) -> None:
        told.append("asked")

    async def hold(error: ServiceFailed, failed_in_a_row: int) -> None:
        for _ in range(10):  # as long as whoever waits needs to go
            await asyncio.sleep(0)
        told.append(f"left alone after {failed_in_a_row}")

    wiki.fail_next(STALLED, AWAY)
    async with Client(wiki.api, "Tester", turn, hold) as client:
        asking = [asyncio.create_task(client.fetch(["Cat"])) for _ in range(3)]
        await asyncio.to_thread(wiki.wait_for_requests, 3)
        wiki.release()
        results = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(each) for each in results if isinstance(each, Exception)] == [WikiFailed]
    assert told == ["asked", "asked", "left alone after 1", "asked"]


async def test_revisions_tell_what_changed_moved_and_went(wiki: WikiServer, client: Client) -> None:
    before = await client.revisions(["Cat", "Dog", "Fox", "Mercury"])
    changed = wiki.edit("Cat", "Another text.")
    wiki.move("Dog", "Hound")
    wiki.delete("Fox")
    after = await client.revisions(["Cat", "Dog", "Fox", "Mercury"])
    assert after["Cat"] == Revision(changed, before["Cat"].page)
    assert changed > before["Cat"].id
    assert (after["Dog"].page, after["Dog"].moved_to) == (before["Dog"].page, "Hound")
    assert after["Fox"] == Revision(0, 0, missing=True, reason="It does not exist in the wiki.")
    assert after["Mercury"] == before["Mercury"]
    assert all(each.parameters["prop"] == "info" for each in wiki.requests)


async def test_the_site_is_asked_for_once_and_knows_its_namespaces() -> None:
    names = {-1: "Spezial", 0: "", 14: "Kategorie"}
    with WikiServer(names=names, aliases={"Kat": 14}) as wiki:
        async with Client(wiki.api, "Tester") as client:
            site = await client.site()
            assert await client.site() is site
        assert len(wiki.requests) == 1
    for written in ("Kategorie:Tiere", "category:tiere", "kat:Tiere"):
        title = site.title(written)
        assert title is not None
        assert title.text == "Kategorie:Tiere"
    assert site.interwikis == {"de", "fr", "wikt"}


async def members(client: Client, category: str) -> list[str]:
    return [title async for title in client.members(category)]


@pytest.mark.parametrize("category", ["Pets", "Category:Pets", "category:pets"])
async def test_a_category_has_the_articles_in_it(client: Client, category: str) -> None:
    assert await members(client, category) == ["Cat", "Dog"]


async def test_categories_below_it_are_not_followed(client: Client) -> None:
    assert await members(client, "Animals") == ["Fox"]


async def test_a_category_that_is_not_there_is_empty(client: Client) -> None:
    assert await members(client, "Unicorns") == []


async def test_a_large_category_is_read_to_its_end(wiki: WikiServer, client: Client) -> None:
    wiki.rows_per_answer = 4
    for title, text in numbered(30).items():
        wiki.edit(title, text)
    assert len(await members(client, "Kind 1")) == 10


@pytest.mark.parametrize(("limit", "asked"), [(0, 0), (3, 1), (4, 1), (9, 3), (100, 8)])
async def test_a_search_is_read_as_far_as_asked(wiki: WikiServer, client: Client, limit: int, asked: int) -> None:
    wiki.rows_per_answer = 4
    for title, text in numbered(30).items():
        wiki.edit(title, text)
    found = await client.search("page text", limit)
    assert found == sorted(numbered(30))[:limit]
    assert len(wiki.requests) == asked


async def test_what_is_near_a_missing_title_is_suggested(wiki: WikiServer, client: Client) -> None:
    wiki.edit("Machine learning", "Machines that learn.")
    wiki.edit("Machine", "A thing.")
    assert await client.suggest("machine learn") == ["Machine learning"]
    assert await client.suggest("Machine_lerning") == ["Machine learning", "Machine"]
    assert await client.suggest("Zebra") == []
    assert await client.suggest("") == []


def test_the_server_can_tell_the_members_of_a_category_as_pages() -> None:
    with WikiServer(PAGES) as wiki:
        asked = {"generator": "categorymembers", "gcmtitle": "Category:Pets", "gcmlimit": "1", "gcmtype": "page"}
        question = {"action": "query", "format": "json", "formatversion": "2", "prop": "info", **asked}
        titles: list[str] = []
        more: dict[str, str] = {}
        while True:
            answer = httpx.get(wiki.api, params={**question, **more}).json()
            titles += [row["title"] for row in answer["query"]["pages"]]
            if not (more := answer.get("continue", {})):
                break
    assert titles == ["Cat", "Dog", "Talk:Cat"]
    assert isinstance(answer["query"]["pages"][0]["lastrevid"], int)


async def test_a_wiki_is_asked_once_of_itself_by_all_who_want_to_know(wiki: WikiServer, client: Client) -> None:
    sites = await asyncio.gather(*[client.site() for _ in range(4)])
    assert len(wiki.requests) == 1
    assert all(site is sites[0] for site in sites)

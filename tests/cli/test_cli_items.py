"""`detent items` and `detent show`: lists, and one item's whole story."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import detent
from detent.lifecycle import ARTICLE, PASSAGE, TOPIC, RetryPolicy

Result = subprocess.CompletedProcess[str]

ITEM = {
    *("id", "source", "label", "key", "state", "since", "attempt", "priority", "content_hash", "added_at"),
    *("not_before", "error_kind", "trouble", "error"),
}


@pytest.fixture
def wiki(opened: detent.Detent) -> detent.Detent:
    """Ten articles, of which the first failed, the second waits for later and the third is in someone's hands."""
    opened.declare("wiki", "Article", ARTICLE)
    opened.add("wiki", "Article", [f"page {n}" for n in range(10)])
    first, second, _ = opened.claim(ARTICLE, "discovered", owner="somebody", limit=3)
    opened.settle([(first, detent.Failed("it is gone", detent.Trouble.NOT_FOUND))])
    opened.settle([(second, detent.Retry("too fast", detent.Trouble.RATE_LIMITED, retry_after=3600))])
    return opened


@pytest.mark.usefixtures("wiki")
def test_items_are_listed_with_the_reasons_of_those_that_failed(said: Callable[..., Result]) -> None:
    listed = said("items").stdout

    assert "not_found: it is gone" in listed
    assert "too fast (attempt 1; retry after 20" in listed
    assert len(listed.splitlines()) == 11


@pytest.mark.usefixtures("wiki")
def test_filters_and_the_names_of_the_documents_fields(document: Callable[..., Any]) -> None:
    failed = document("items", "--state", "failed", "--source", "wiki", "--label", "Article")
    assert [item["key"] for item in failed["items"]] == ["page 0"]
    assert set(failed) == {"items", "next"}
    assert set(failed["items"][0]) == ITEM
    assert failed["items"][0]["since"].endswith("+00:00")
    assert [item["key"] for item in document("items", "--error-kind", "rate_limited")["items"]] == ["page 1"]
    assert [item["key"] for item in document("items", "--state", "claimed")["items"]] == ["page 2"]


def test_items_are_found_by_a_text_and_by_the_time_of_their_state(
    wiki: detent.Detent, document: Callable[..., Any]
) -> None:
    def keys(*options: str) -> list[str]:
        return [item["key"] for item in document("items", *options)["items"]]

    assert keys("--text", "TOO FAST") == ["page 1"]
    assert keys("--text", "age 7") == ["page 7"]
    assert keys("--text", "gone", "--state", "failed", "--error-kind", "not_found") == ["page 0"]
    assert keys("--text", "gone", "--state", "discovered") == []
    came = wiki.show("page 0").item.since
    assert keys("--since", came.isoformat(), "--state", "failed") == ["page 0"]
    assert keys("--until", came.isoformat(), "--state", "failed") == []
    assert len(keys("--until", f"{came:%Y-%m-%d}")) == 10
    page = wiki.items(text="page", limit=4)
    more = wiki.items(text="page", limit=10, after=page.next)
    assert [item.key for item in (*page.items, *more.items)] == [f"page {n}" for n in range(10)]
    assert more.next is None


@pytest.mark.usefixtures("wiki")
def test_the_command_for_the_next_page_gives_the_next_page(said: Callable[..., Result]) -> None:
    keys: list[str] = []
    result = said("items", "--limit", "4")
    while "Next page: " in result.stderr:
        keys += [line.split("Article  ")[1].split("  ")[0] for line in result.stdout.splitlines()[1:]]
        command = shlex.split(result.stderr.split("Next page: ")[1])
        result = said(*command[1:])
    keys += [line.split("Article  ")[1].split("  ")[0] for line in result.stdout.splitlines()[1:]]

    assert keys == [f"page {n}" for n in range(10)]


@pytest.mark.usefixtures("wiki")
def test_a_last_page_that_is_full_promises_no_other(said: Callable[..., Result], document: Callable[..., Any]) -> None:
    assert said("items", "--limit", "10").stderr == ""
    assert document("items", "--error-kind", "not_found", "--limit", "1")["next"] is None


def test_how_often_an_item_was_tried_is_said_once(opened: detent.Detent, said: Callable[..., Result]) -> None:
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", ["a"])
    [item] = opened.claim(TOPIC, "pending", owner="somebody")
    opened.wait(opened.asynchronous.store.settle([(item, detent.Retry("no"))], RetryPolicy(max_attempts=1)))

    assert said("items").stdout.splitlines()[1].endswith("no (1 of 1 attempts failed)")


@pytest.mark.parametrize("word", ["word ", "words", "\u4e00"])
def test_a_long_reason_is_seen_to_be_cut(opened: detent.Detent, said: Callable[..., Result], word: str) -> None:
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", ["a"])
    [item] = opened.claim(TOPIC, "pending", owner="somebody")
    opened.settle([(item, detent.Failed(word * 300))])

    [_, line] = said("items").stdout.splitlines()
    assert line.endswith(" … (attempt 1)")
    assert line.count(word) > 30


@pytest.mark.usefixtures("wiki")
def test_lines_have_no_blanks_at_their_ends(said: Callable[..., Result]) -> None:
    for command in (["items"], ["status"], ["sources"], ["config"], ["lifecycles", "node"], ["show", "page 0"]):
        assert [line for line in said(*command).stdout.splitlines() if line != line.rstrip()] == []


@pytest.mark.usefixtures("wiki")
def test_moves_are_shown_where_there_are_no_arrows(ran: Callable[..., Result]) -> None:
    shown = ran("show", "page 0", env={**os.environ, "PYTHONIOENCODING": "ascii"}).stdout

    assert "discovered -> claimed" in shown


@pytest.mark.usefixtures("wiki")
def test_unknown_names_get_a_suggestion(said: Callable[..., Result]) -> None:
    """ANCESTORS 15: a filter by a name that does not exist found nothing, silently."""
    for option, name, what, meant in (
        ("--source", "wikki", "source", "wiki"),
        ("--label", "Artikle", "label", "Article"),
        ("--state", "faild", "state", "failed"),
        ("--error-kind", "notfound", "kind of error", "not_found"),
    ):
        result = said("items", option, name)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.strip() == f"There is no {what} {name!r}. Did you mean {meant!r}?"
    assert "Did you mean 'page 0'?" in said("show", "pagee 0").stderr
    assert "Did you mean 'page 0'?" in said("show", "Page 0").stderr


@pytest.mark.usefixtures("project")
def test_before_there_are_sources_nothing_is_a_mistake(said: Callable[..., Result]) -> None:
    assert said("items", "--state", "failed").returncode == 0
    assert "No sources are known yet" in said("status").stdout
    assert "No sources are known yet" in said("sources").stdout


@pytest.mark.usefixtures("wiki")
def test_show_tells_where_an_item_is_and_why(said: Callable[..., Result]) -> None:
    story = said("show", "page 0").stdout
    assert "wiki/Article/page 0" in story
    assert "failed, since 20" in story
    assert "it is gone" in story
    assert "discovered → claimed" in story
    assert "claimed → failed" in story

    assert "Waits until  20" in said("show", "page 1").stdout
    assert "Held by   somebody, until 20" in said("show", "page 2").stdout
    assert "It has not moved yet." in said("show", "page 9").stdout


@pytest.mark.usefixtures("wiki")
def test_the_names_of_the_storys_fields(document: Callable[..., Any]) -> None:
    story = document("show", "page 2")

    fields = {
        "item",
        "lifecycle",
        "changed",
        "title",
        "properties",
        "alias_of",
        "embedding",
        "error_at",
        "lease",
        "checkpoint",
    }
    assert set(story) == {*fields, "reached", "history", "texts"}
    assert story["texts"] is None
    assert set(story["reached"]) == {"claimed"}
    assert set(story["item"]) == ITEM
    assert set(story["lease"]) == {"owner", "deadline", "token"}
    entry = {"at", "from_state", "to_state", "attempt", "token", "took", "owner", "reason"}
    assert [set(each) for each in story["history"]] == [entry]


def test_show_tells_where_a_redirect_leads(
    wiki: detent.Detent, said: Callable[..., Result], document: Callable[..., Any]
) -> None:
    [item] = wiki.claim(ARTICLE, "discovered", owner="somebody", limit=1)
    wiki.settle([(item, detent.Done(alias_of="page 9"))])

    assert "Redirect to  page 9" in said("show", item.key).stdout
    assert document("show", item.key)["alias_of"] == "page 9"


def test_show_reads_out_what_an_item_and_its_sections_say(
    wiki: detent.Detent, said: Callable[..., Result], document: Callable[..., Any]
) -> None:
    wiki.declare("wiki", "Section", PASSAGE)
    named, item = wiki.claim(ARTICLE, "discovered", owner="somebody", limit=2)
    pieces = [("Owl", "It [hunts]."), ("Owl", "By night."), ("Owl: Food", ""), ("Owl: Home", "- Trees\n- \x1b[1mBarns")]
    children = [detent.Child("Section", f"{item.key}#{place}", detent.Node(*each)) for place, each in enumerate(pieces)]
    done = detent.Done(detent.Node("Owl"), children=children)
    wiki.settle([(item, done), (named, detent.Done(alias_of=item.key))])

    assert (
        said("show", item.key, "--text").stdout
        == "Owl\nIt [hunts].\n\nBy night.\n\nOwl: Home\n- Trees\n- \\x1b[1mBarns\n\n"
    )
    texts = [{"title": title, "text": text} for title, text in pieces if text]
    assert document("show", item.key, "--text")["texts"] == texts
    without = said("show", named.key, "--text")
    assert (without.returncode, without.stderr) == (2, f"wiki/Article/{named.key}: It is a redirect to {item.key}.\n")
    assert said("show", "page 9", "--text").stderr == "wiki/Article/page 9: It has no text.\n"


def test_show_tells_what_an_item_was_embedded_with(
    wiki: detent.Detent, said: Callable[..., Result], document: Callable[..., Any]
) -> None:
    wiki.declare("wiki", "Note", PASSAGE)
    wiki.add("wiki", "Note", ["a note"])
    [item] = wiki.claim(PASSAGE, "linked", owner="somebody")
    wiki.settle([(item, detent.Done(embedding=detent.Embedding("own", "small", "abc")))])

    assert "by own small; hash of the text abc" in said("show", "a note").stdout
    expected = {"provider": "own", "model": "small", "content_hash": "abc", "hash": None}
    assert document("show", "a note")["embedding"] == expected


def test_a_key_of_several_items_asks_which(wiki: detent.Detent, said: Callable[..., Result]) -> None:
    wiki.declare("notes", "Topic", TOPIC)
    wiki.add("notes", "Topic", ["page 0", "only here"])

    result = said("show", "page 0")

    assert result.returncode == 2
    assert "--source notes --label Topic" in result.stderr
    assert "--source wiki --label Article" in result.stderr
    assert said("show", "page 0", "--source", "notes").returncode == 0
    elsewhere = said("show", "only here", "--source", "wiki")
    assert "the source 'notes' has one with the label 'Topic'" in elsewhere.stderr


def test_keys_are_printed_whole_and_do_not_speak_to_the_terminal(
    wiki: detent.Detent, said: Callable[..., Result]
) -> None:
    wiki.add("wiki", "Article", ["[bold]\x1b[2J\nkey", "k" * 500])

    listed = said("items").stdout

    assert r"[bold]\x1b[2J key" in listed
    assert "k" * 500 in listed


@pytest.mark.usefixtures("wiki")
def test_a_pipe_that_closes_ends_it_silently(opened: detent.Detent, start: Callable[..., Any]) -> None:
    opened.add("wiki", "Article", [f"another page {n}" for n in range(3000)])
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = start("items", "--limit", "10000", "--json", env=buffered)

    process.stdout.readline()
    process.stdout.close()

    assert process.wait(60) == 141
    assert process.stderr.read() == ""

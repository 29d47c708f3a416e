"""Trouble of the database's own: what passes is tried again, and no item fails for it; what does not pass fails
the one item that causes it. Whoever reads the journal for long holds nobody up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql

from detent.errors import DatabaseAway, DatabaseBusy
from detent.knowledge import Done, Item, Node
from detent.lifecycle import ARTICLE
from detent.store import Settled, Stage, Store

Query = Callable[..., list[Any]]

ARTICLES = Stage(ARTICLE, "discovered")

PASSING = {
    "40001": "serialization failure",
    "40P01": "deadlock",
    "53100": "disk full",
    "53200": "out of memory",
    "55P03": "lock not available",
    "57014": "query cancelled",
    "58030": "input or output error",
    "25006": "read only, as after a change of servers",
    "25P04": "transaction over its time limit",
}
LASTING = {
    "XX000": "internal error",
    "54000": "program limit exceeded",
    "0A000": "feature not supported",
    "42883": "undefined function",
    "42601": "syntax error",
    "P0001": "raised by a trigger",
}


def refuse_nodes(query: Query, sqlstate: str) -> None:
    """Have the database answer with this error when a node with the title `bad` is written."""
    query(f"""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'this is the reason' USING ERRCODE = '{sqlstate}'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON node FOR EACH ROW WHEN (new.title = 'bad') EXECUTE FUNCTION refuse()
    """)


async def claim_three(store: Store) -> list[tuple[Item, Done]]:
    """Three articles and their outcomes, the second of which has a node with the title `bad`."""
    await store.add("wiki", "Article", ["a", "b", "c"])
    items = await store.claim(ARTICLES, owner="w")
    titles = ["one", "bad", "three"]
    return [(item, Done(node=Node(title))) for item, title in zip(items, titles, strict=True)]


@pytest.mark.parametrize("sqlstate", PASSING, ids=PASSING.get)
async def test_an_error_that_passes_is_told_as_such_and_fails_no_item(wiki: Store, query: Query, sqlstate: str) -> None:
    refuse_nodes(query, sqlstate)
    outcomes = await claim_three(wiki)
    with pytest.raises(DatabaseBusy, match=r"^The database is busy or full: this is the reason\. "):
        await wiki.settle(outcomes)
    assert query("SELECT state FROM item WHERE key IN ('b', 'c')") == [("claimed",), ("claimed",)]
    query("DROP TRIGGER refuse ON node")
    first, *rest = [receipt.status for receipt in await wiki.settle(outcomes)]
    assert first in (Settled.APPLIED, Settled.ALREADY), "fewer at a time may have been tried"
    assert rest == [Settled.APPLIED] * 2


@pytest.mark.parametrize("sqlstate", ["57014", "25P04", "53200"])
async def test_what_is_too_much_for_one_statement_is_settled_in_parts(wiki: Store, query: Query, sqlstate: str) -> None:
    query(f"""
        CREATE FUNCTION too_much() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT count(*) FROM fresh) > 2 THEN RAISE 'too much' USING ERRCODE = '{sqlstate}'; END IF; RETURN NULL;
        END $$;
        CREATE TRIGGER too_much AFTER INSERT ON node REFERENCING NEW TABLE AS fresh
        FOR EACH STATEMENT EXECUTE FUNCTION too_much()
    """)  # noqa: S608
    await wiki.add("wiki", "Article", [f"key {number}" for number in range(9)])
    outcomes = [(item, Done(node=Node(item.key))) for item in await wiki.claim(ARTICLES, owner="w")]
    receipts = await wiki.settle(outcomes)
    assert [receipt.item.key for receipt in receipts] == [item.key for item, _ in outcomes]
    assert {receipt.status for receipt in receipts} == {Settled.APPLIED}


async def test_a_batch_with_much_text_is_settled_in_parts(
    wiki: Store, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL hangs up on a statement of more than a thousand million bytes."""
    monkeypatch.setattr("detent.store.ledger.settling._LARGEST", 100)
    query("""
        CREATE FUNCTION too_much() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT sum(length(text)) FROM fresh) > 160 THEN RAISE 'too much'; END IF; RETURN NULL; END $$;
        CREATE TRIGGER too_much AFTER INSERT ON node REFERENCING NEW TABLE AS fresh
        FOR EACH STATEMENT EXECUTE FUNCTION too_much()
    """)
    await wiki.add("wiki", "Article", [f"key {number}" for number in range(9)])
    texts = ["x" * 40] * 7 + ["x" * 150] * 2
    items = await wiki.claim(ARTICLES, owner="w")
    outcomes = [(item, Done(node=Node(item.key, text))) for item, text in zip(items, texts, strict=True)]
    assert {receipt.status for receipt in await wiki.settle(outcomes)} == {Settled.APPLIED}


async def test_a_text_that_no_statement_can_carry_fails_its_item_and_no_other(
    wiki: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detent.store.values.LONGEST_TEXT", 10)
    await wiki.add("wiki", "Article", ["a", "b"])
    long, short = await wiki.claim(ARTICLES, owner="w")
    receipts = await wiki.settle([(long, Done(node=Node("t", "x" * 11))), (short, Done(node=Node("t", "x" * 10)))])
    assert [receipt.status for receipt in receipts] == ["refused", "applied"]
    assert "11 characters long; at most 10 can be stored" in str(receipts[0].reason)


@pytest.mark.parametrize("sqlstate", LASTING, ids=LASTING.get)
async def test_any_other_error_fails_the_item_that_causes_it_and_no_other(
    wiki: Store, query: Query, sqlstate: str
) -> None:
    refuse_nodes(query, sqlstate)
    receipts = await wiki.settle(await claim_three(wiki))
    assert [receipt.status for receipt in receipts] == ["applied", "refused", "applied"]
    story = (await wiki.show(receipts[1].item.id)).item
    assert (story.state, story.trouble) == ("failed", "unstorable")
    assert story.error == "The result could not be stored: this is the reason."
    assert query("SELECT title FROM node ORDER BY 1") == [("one",), ("three",)]
    assert await wiki.tallies.check() == []


@pytest.mark.parametrize("setting", ["statement_timeout", "lock_timeout"])
async def test_a_time_limit_of_the_server_is_no_refusal(database: str, wiki: Store, query: Query, setting: str) -> None:
    outcomes = await claim_three(wiki)
    query(f"ALTER DATABASE {psycopg.conninfo.conninfo_to_dict(database)['dbname']} SET {setting} = '100ms'")
    async with Store(database) as limited:
        with held(database, "LOCK TABLE node IN ACCESS EXCLUSIVE MODE"), pytest.raises(DatabaseBusy, match="timeout"):
            await limited.settle(outcomes)
        assert {receipt.status for receipt in await limited.settle(outcomes)} == {Settled.APPLIED}


async def test_who_loses_a_deadlock_can_try_again(database: str, wiki: Store) -> None:
    """Two items that are locked in different orders: PostgreSQL ends one of the two transactions."""
    await wiki.add("wiki", "Article", ["a", "b"])
    both_hold_one = asyncio.Barrier(2)

    async def lock(*keys: str) -> str:
        try:
            async with wiki.database.transaction() as connection:
                for key in keys:
                    await connection.execute("SELECT FROM item WHERE key = %s FOR UPDATE", [key])
                    if key == keys[0]:
                        await both_hold_one.wait()
        except DatabaseBusy as busy:
            return str(busy)
        return "done"

    said = await asyncio.gather(lock("a", "b"), lock("b", "a"))
    assert sorted(said) == [
        "The database is busy or full: deadlock detected. Nothing was lost; try again.",
        "done",
    ]


def test_being_busy_is_waited_out_wherever_being_away_is() -> None:
    assert issubclass(DatabaseBusy, DatabaseAway)
    assert "does not answer" not in str(DatabaseBusy("deadlock detected"))


@contextlib.contextmanager
def held(database: str, statement: str) -> Iterator[None]:
    """A transaction of somebody else, that has run this statement and stays open."""
    with psycopg.connect(database, options="-c search_path=detent,public") as connection:
        connection.execute(sql.SQL(statement))
        yield
        connection.rollback()


LONG_AGO = datetime(2010, 1, 1, tzinfo=UTC)
A_READER = "SELECT count(*) FROM journal"


async def test_a_long_reader_of_the_journal_keeps_months_from_being_dropped_and_nobody_from_working(
    database: str, wiki: Store, query: Query
) -> None:
    await wiki.journal.extend(LONG_AGO, months=2)
    with held(database, A_READER):
        pruning = asyncio.create_task(wiki.journal.prune(datetime(2011, 1, 1, tzinfo=UTC)))
        async with asyncio.timeout(60):
            while not query("SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await wiki.settle(await claim_three(wiki))
            with pytest.raises(DatabaseBusy, match="while it is read"):
                await pruning
    assert await wiki.journal.prune(datetime(2011, 1, 1, tzinfo=UTC)) == ["journal_2010_01", "journal_2010_02"]


async def test_a_long_reader_of_the_journal_keeps_months_from_being_made_and_nobody_from_working(
    database: str, wiki: Store
) -> None:
    with held(database, A_READER):
        async with asyncio.timeout(60):
            extending = asyncio.create_task(wiki.journal.extend(LONG_AGO, months=1))
            outcomes = await claim_three(wiki)
            receipts = await wiki.settle(outcomes)
            assert len(await wiki.history(receipts[0].item.id)) == 2
            await wiki.rescue(tokens=[outcomes[0][0].token])
            with pytest.raises(DatabaseBusy, match="while it is read"):
                await extending
    assert await wiki.journal.extend(LONG_AGO, months=1) == ["journal_2010_01"]


async def test_work_goes_on_with_another_time_limit_after_the_months_were_made(wiki: Store) -> None:
    """The limit is the transaction's, and the connection goes back to the others without it."""
    await wiki.journal.extend(LONG_AGO, months=1)
    async with wiki.database.connection() as connection:
        row = await (await connection.execute("SHOW lock_timeout")).fetchone()
    assert row == ("0",)

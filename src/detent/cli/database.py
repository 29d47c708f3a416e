"""`detent db`: the database itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from detent.cli.confirming import confirm
from detent.cli.options import Group, as_json, with_session
from detent.cli.output import document, size
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application import AsyncDetent
    from detent.application.database import Checked, DatabaseInfo, Pruned


@click.group("db", cls=Group, short_help="Manage the database and its server.")
def database() -> None:
    """Manage the database: show it, check its counts, upgrade its schema, prune the journal, run its server."""


@database.command("info", short_help="Show the database's address, size and users.")
@with_session
@as_json("""
    server      "own" for the one in .detent, "given" for one that was named
    address     its address; passwords are hidden; null if Detent's own was never started
    running     true if it answers; error, the reason if not, or null
    version, data_folder, socket_folder, pid    of the server; null where not known
    size_bytes  its size on disk; connections, their number; null if it does not run
    schema_version, newest_schema_version       the database's (null if it does not run), and this
    program's
    users       the process numbers that use Detent's own server
    held        true if `detent db start` keeps it running
""")
def info(session: Session, json_: bool) -> None:
    """Show the database's address, versions, size and users, without starting or changing anything.

    \b
    Examples:
      detent db info
      detent db info --json
    """
    from detent.application.database import information

    session.require_project()
    found = session.finish(lambda: information(session.project, database=session.database))
    if json_:
        document(found.as_data())
    else:
        _show(session, found)


def _show(session: Session, found: DatabaseInfo) -> None:
    from detent.cli.drawing import plain, table

    shown = table("", "", wide=[""])
    shown.show_header = False
    for name, value in _lines(found):
        shown.add_row(name, plain(value))
    session.out.print(shown)


@database.command("check", short_help="Compare the counts with the items.")
@click.option("--repair", is_flag=True, help="Recount all items where the counts are wrong.")
@with_session
@as_json("""
    ok          true if nothing is wrong, after a repair if requested
    problems    a list of sentences: the problems found
    repaired    a list of sentences: the problems repaired
""")
def check(session: Session, repair: bool, json_: bool) -> int:
    """Compare the counts with the items, and each item with its place. The exit status is 1 if something is wrong.

    It reads all items; workers continue meanwhile.

    \b
    Examples:
      detent db check
      detent db check --repair
    """

    found = session.with_db(lambda db: db.check(repair=repair))
    if json_:
        document(found.as_data())
    else:
        _report(session, found, repair)
    return 0 if found.ok else 1


@database.command("upgrade", short_help="Bring the schema up to date.")
@with_session
def upgrade(session: Session) -> None:
    """Upgrade the database's schema to the version of this program. Other commands do this when they open the
    database; this one reports the steps.

    \b
    Examples:
      detent db upgrade
    """

    from detent.application.database import upgrade as bring_up_to_date

    session.require_project()
    found = session.finish(lambda: bring_up_to_date(session.project, database=session.database))
    for step in found.steps:
        session.say(f"Applied {step}.")
    session.say(f"The schema is {'now' if found.steps else 'already'} at version {found.version}.")


@database.command("prune", short_help="Drop old moves from the journal.")
@click.option("--before", metavar="DATE", help="Drop moves made before this date or time (UTC), such as 2025-06-30.")
@click.option("--keep-days", type=click.IntRange(1), help="Drop moves older than this many days.")
@click.option("--yes", is_flag=True, help="Do not ask, even if the whole journal is dropped.")
@with_session
def prune(session: Session, before: str | None, keep_days: int | None, yes: bool) -> None:
    """Drop old moves from the journal; items keep their state and data. A month is dropped as a whole, once all of
    it is old enough. A date in the future drops the current month too, after a confirmation.

    Default: moves older than the setting journal.retention_days.

    \b
    Examples:
      detent db prune --keep-days 90
      detent db prune --before 2025-01-01
    """

    if before and keep_days:
        raise click.UsageError("Use --before or --keep-days, not both.")

    async def pruned(db: AsyncDetent) -> Pruned:
        from detent.application.database import prune_limit

        limit = prune_limit(db.settings, before, keep_days)
        if limit > datetime.now(UTC):
            confirm(f"{before} is in the future. Drop this month's moves too?", yes)
        return await db.prune(before=limit)

    found = session.with_db(pruned)
    limit = f"{found.before:%Y-%m-%d %H:%M} UTC"
    session.say(
        f"Dropped the moves of {', '.join(found.months)}, before {limit}."
        if found.months
        else f"No month of the journal is entirely before {limit}, so nothing was dropped."
    )


@database.command("start", short_help="Start Detent's own server, and keep it running.")
@with_session
def start(session: Session) -> None:
    """Start Detent's own server and keep it running until `detent db stop`. Commands answer faster then. Otherwise,
    the server starts with the first command that needs it and stops after the last.

    \b
    Examples:
      detent db start
    """
    from detent.application.database import start_server

    folder = session.finish(lambda: start_server(session.project, database=session.database))
    session.say(f"The server in {folder} is running until `detent db stop`.")


@database.command("stop", short_help="Stop Detent's own server.")
@click.option("--yes", is_flag=True, help="Do not ask, even if the server is in use.")
@with_session
def stop(session: Session, yes: bool) -> None:
    """Stop Detent's own server. Stored data is safe. If the server is in use, for example by `detent work`, it asks
    first.

    \b
    Examples:
      detent db stop
    """
    from detent.application.database import server_users, stop_server

    users = session.finish(lambda: server_users(session.project, database=session.database))
    if session.found() is None:
        session.say("There is no project here, so no server runs.")
        return
    if users:
        who = f"process{'es' if len(users) > 1 else ''} {', '.join(map(str, users))}"
        confirm(f"The server is used by the {who}. Stop it anyway?", yes)
    stopped = session.finish(lambda: stop_server(session.project, database=session.database))
    session.say(f"The server in {stopped.folder} {'has stopped' if stopped.ran else 'was not running'}.")


def _lines(found: DatabaseInfo) -> list[tuple[str, str]]:
    schema = f"{found.schema_version} of {found.newest_schema_version}, the newest version of this program"
    lines = [
        ("Server", "Detent's own" if found.server == "own" else "given by the settings"),
        ("Address", found.address),
        ("Running", _running(found)),
        ("PostgreSQL", found.version),
        ("Data folder", found.data_folder),
        ("Size", size(found.size_bytes) if found.size_bytes else None),
        ("Schema", schema if found.schema_version is not None else None),
        ("Connections", found.connections),
        ("Used by", ", ".join(f"process {user}" for user in found.users) or None),
    ]
    return [(name, str(value)) for name, value in lines if value is not None]


def _running(found: DatabaseInfo) -> str:
    if found.error:
        return f"no: {found.error}"
    if not found.running:
        return "no; it starts with the first command that needs it"
    if found.server == "given":
        return "yes"
    kept = "kept by `detent db start`" if found.held else "it stops after its last user"
    return f"yes, as process {found.pid}; {kept}"


def _report(session: Session, found: Checked, repair: bool) -> None:
    for problem in found.repaired:
        session.say(f"Repaired: {problem}")
    for problem in found.problems:
        session.say(f"Wrong: {problem}")
    if found.problems and not repair:
        session.say("`detent db check --repair` recounts all items.")
    elif found.problems:
        session.say("A recount does not repair this; please report it.")
    elif not found.repaired:
        session.say("Nothing is wrong: the counts agree with the items, and every item is in its place.")

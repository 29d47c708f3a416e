"""`detent db`: the database itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Group, as_json, with_session
from detent.cli.output import document, size
from detent.cli.reset import confirm
from detent.cli.session import Session
from detent.errors import DatabaseAway, DetentError

if TYPE_CHECKING:
    from detent.application.connecting import Connected, Located
    from detent.configuration import Project
    from detent.store.server import Facts


@click.group("db", cls=Group, short_help="Look after the database and its server.")
def database() -> None:
    """Look after the database: what it is, whether its counts are right, its schema, and its server."""


@database.command("info", short_help="Show where the database is, and who uses it.")
@with_session
@as_json("""
    server      "own" for the one in .detent, "given" for one that was named
    address     where it is; passwords are hidden; null if Detent's own was never started
    running     whether it answers; error, why it does not, or null
    version, data_folder, socket_folder, pid    of the server; null where not known
    size_bytes  what it takes on disk; connections, how many there are; null if it does not run
    schema_version, newest_schema_version       what the database has (null if it does not run), and what
    this program knows
    users       the process numbers that use Detent's own server
    held        whether `detent db start` keeps it running
""")
def info(session: Session, json_: bool) -> None:
    """Show where the database is, its versions and size, and who uses it. Nothing is started or changed.

    \b
    Examples:
      detent db info
      detent db info --json
    """
    session.require_project()
    found = _information(session)
    if json_:
        document(found)
    else:
        _show(session, found)


def _show(session: Session, found: dict[str, Any]) -> None:
    from detent.cli.drawing import plain, table

    shown = table("", "", wide=[""])
    shown.show_header = False
    for name, value in _lines(found):
        shown.add_row(name, plain(value))
    session.out.print(shown)


@database.command("check", short_help="Compare the counts with the items.")
@click.option("--repair", is_flag=True, help="Count all items anew where the counts are wrong.")
@with_session
@as_json("""
    ok          whether nothing is wrong, after a repair if one was asked for
    problems    a list of sentences: what is wrong
    repaired    a list of sentences: what was wrong and has been put right
""")
def check(session: Session, repair: bool, json_: bool) -> int:
    """Compare the counts with the items, and each item with its place. Exit status 1 if something is wrong.

    It reads all items; workers go on meanwhile.

    \b
    Examples:
      detent db check
      detent db check --repair
    """

    async def checked(opened: Connected) -> tuple[list[str], list[str]]:
        tallies = opened.store.tallies
        before = await tallies.check()
        if not before or not repair:
            return before, []
        await tallies.repair()
        after = await tallies.check()
        return after, [problem for problem in before if problem not in after]

    problems, repaired = session.with_store(checked)
    if json_:
        document({"ok": not problems, "problems": problems, "repaired": repaired})
    else:
        _report(session, problems, repaired, repair)
    return 1 if problems else 0


@database.command("upgrade", short_help="Bring the schema up to date.")
@with_session
def upgrade(session: Session) -> None:
    """Bring the database's schema to what this program needs. Other commands do this by themselves when they
    open the database; this one says what was done.

    \b
    Examples:
      detent db upgrade
    """

    async def upgraded(found: Located) -> None:
        from detent.store import server

        applied = await server.upgrade(found.conninfo)
        for step in applied:
            session.say(f"Applied {step.number:04d} {step.name}.")
        session.say(f"The schema is {'now' if applied else 'already'} at version {server.newest_schema()}.")

    session.with_database(upgraded)


@database.command("prune", short_help="Drop old moves from the journal.")
@click.option("--before", metavar="DATE", help="Drop moves made before this day or time (UTC), such as 2025-06-30.")
@click.option("--keep-days", type=click.IntRange(1), help="Drop moves older than this many days.")
@click.option("--yes", is_flag=True, help="Do not ask, even if all that the journal has is dropped.")
@with_session
def prune(session: Session, before: str | None, keep_days: int | None, yes: bool) -> None:
    """Drop old moves from the journal; items keep their state and data. Whole months are dropped at a time, once
    all of a month is old enough. A time that is still to come drops this month too, so that is asked about first.

    Without an option, the setting journal.retention_days says what is old.

    \b
    Examples:
      detent db prune --keep-days 90
      detent db prune --before 2025-01-01
    """

    async def pruned(opened: Connected) -> None:
        moment = _limit(before, keep_days or opened.settings.journal.retention_days)
        if moment > datetime.now(UTC):
            confirm(f"{before} is still to come. Drop what the journal has of this month too?", yes)
        dropped = await opened.store.journal.prune(moment)
        months = ", ".join(name.removeprefix("journal_").replace("_", "-") for name in dropped)
        limit = f"{moment:%Y-%m-%d %H:%M} UTC"
        session.say(
            f"Dropped the moves of {months}, before {limit}."
            if dropped
            else f"No month of the journal lies wholly before {limit}, so nothing was dropped."
        )

    if before and keep_days:
        raise click.UsageError("Say --before or --keep-days, not both.")
    session.with_store(pruned)


@database.command("start", short_help="Start Detent's own server, and keep it.")
@with_session
def start(session: Session) -> None:
    """Start Detent's own server and keep it running until `detent db stop`. Commands answer faster then; without
    it, the server starts with the first command that needs it and stops after the last.

    \b
    Examples:
      detent db start
    """
    from pathlib import Path

    from detent.configuration import Project
    from detent.postgres import hold

    project = _own(session) or Project(Path.cwd())
    hold(project.folder)
    session.say(f"The server in {project.folder} runs, and stays until `detent db stop`.")


@database.command("stop", short_help="Stop Detent's own server.")
@click.option("--yes", is_flag=True, help="Do not ask, even if somebody uses the server.")
@with_session
def stop(session: Session, yes: bool) -> None:
    """Stop Detent's own server. Nothing that was stored is lost; what uses it, such as a running
    `detent work`, is asked about first.

    \b
    Examples:
      detent db stop
    """
    from detent.postgres import describe
    from detent.postgres import stop as stop_server

    project = _own(session)
    if project is None:
        session.say("There is no project here, so no server runs.")
        return
    users = describe(project.folder).users
    if users:
        who = f"process{'es' if len(users) > 1 else ''} {', '.join(map(str, users))}"
        confirm(f"The server is used by the {who}. Stop it all the same?", yes)
    ran = stop_server(project.folder)
    session.say(f"The server in {project.folder} {'has stopped' if ran else 'was not running'}.")


def _own(session: Session) -> Project | None:
    """The project whose own server is meant."""
    settings = session.settings()
    if settings.database is not None:
        address = next(each.value for each in settings.explain() if each.name == "database")
        raise DetentError(f"This project uses the server {address}. Detent starts and stops only its own.")
    return session.found()


def _information(session: Session) -> dict[str, Any]:
    """Everything about the server. Its own is asked only if it runs, so that nothing is started."""
    from detent.postgres import ServerInfo, describe
    from detent.store.server import newest_schema

    settings, project = session.settings(), session.found()
    given = settings.database is not None
    own = describe(project.folder) if project and not given else ServerInfo(running=False)
    asked, error = _ask(session) if given or own.running else (None, None)
    address = next(each.value for each in settings.explain() if each.name == "database") if given else None
    return {
        "server": "given" if given else "own",
        "address": address if given else own.socket_folder,
        "running": asked is not None,
        "error": error,
        "version": asked.version if asked else own.version,
        "data_folder": own.data_folder,
        "socket_folder": own.socket_folder,
        "pid": own.pid,
        "size_bytes": own.size_bytes or (asked.size_bytes if asked else None),
        "connections": asked.connections if asked else None,
        "schema_version": asked.schema_version if asked else None,
        "newest_schema_version": newest_schema(),
        "users": list(own.users),
        "held": own.held,
    }


def _ask(session: Session) -> tuple[Facts | None, str | None]:
    """What the server says, or why it says nothing."""
    from detent.store.server import facts

    try:
        return session.with_database(lambda found: facts(found.conninfo)), None
    except DatabaseAway as away:
        return None, " ".join(str(away.__cause__ or away).split())


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    schema = f"{found['schema_version']} of {found['newest_schema_version']}, the newest that this program knows"
    lines = [
        ("Server", "Detent's own" if found["server"] == "own" else "given by the settings"),
        ("Address", found["address"]),
        ("Running", _running(found)),
        ("PostgreSQL", found["version"]),
        ("Data folder", found["data_folder"]),
        ("Size", size(found["size_bytes"]) if found["size_bytes"] else None),
        ("Schema", schema if found["schema_version"] is not None else None),
        ("Connections", found["connections"]),
        ("Used by", ", ".join(f"process {user}" for user in found["users"]) or None),
    ]
    return [(name, str(value)) for name, value in lines if value is not None]


def _running(found: dict[str, Any]) -> str:
    if found["error"]:
        return f"no: {found['error']}"
    if not found["running"]:
        return "no; it starts with the first command that needs it"
    if found["server"] == "given":
        return "yes"
    kept = "kept by `detent db start`" if found["held"] else "it stops when nobody uses it"
    return f"yes, as process {found['pid']}; {kept}"


def _report(session: Session, problems: list[str], repaired: list[str], repair: bool) -> None:
    for problem in repaired:
        session.say(f"Repaired: {problem}")
    for problem in problems:
        session.say(f"Wrong: {problem}")
    if problems and not repair:
        session.say("`detent db check --repair` counts all items anew.")
    elif problems:
        session.say("This is not repaired by counting anew; please report it.")
    elif not repaired:
        session.say("Nothing is wrong: the counts agree with the items, and every item is in its place.")


def _limit(before: str | None, keep_days: int | None) -> datetime:
    if before is not None:
        try:
            given = datetime.fromisoformat(before)
        except ValueError:
            raise click.BadParameter(f"{before!r} is no date, such as 2025-06-30.", param_hint="--before") from None
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    if keep_days is None:
        raise DetentError(
            "The journal is kept for ever: the setting journal.retention_days is unset. "
            "Set it, or say what to drop with --keep-days or --before."
        )
    return datetime.now(UTC) - timedelta(days=keep_days)

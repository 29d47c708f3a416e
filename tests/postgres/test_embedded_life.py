"""The server's life: it starts with the first user, is shared by all, and stops with the last."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from detent import postgres
from detent.application.connecting import located
from detent.postgres.locks import noted_process
from detent.postgres.place import lock_path

Wait = Callable[[Callable[[], object]], None]
Program = Callable[..., subprocess.Popen[str]]

STAY = """
with postgres.attach(folder) as attachment:
    print(postgres.describe(folder).pid, flush=True)
    sys.stdin.read()
"""


def one(conninfo: str, query: LiteralString) -> object:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute(query).fetchone()
        return row[0] if row else None


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_an_empty_folder_becomes_a_database_that_knows_vectors_and_alphabets(empty: Path) -> None:
    with postgres.attach(empty) as attachment:
        assert one(attachment.conninfo, "SELECT current_database()") == "detent"
        with psycopg.connect(attachment.conninfo) as connection:
            connection.execute("CREATE EXTENSION vector")
            assert connection.execute("SELECT '[1,2]'::vector <-> '[1,4]'").fetchone() == (2.0,)
        assert one(attachment.conninfo, "SELECT lower('ÀÉÎŽΩЖ')") == "àéîžωж"
        assert one(attachment.conninfo, "SHOW data_checksums") == "on"
        assert one(attachment.conninfo, "SHOW server_encoding") == "UTF8"


def test_the_server_stops_with_its_last_user_and_keeps_what_was_written(
    project: Path, wait_until_stopped: Callable[[Path], None]
) -> None:
    first, second = postgres.attach(project), postgres.attach(project)
    with psycopg.connect(first.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    first.close()
    first.close()
    assert one(second.conninfo, "SELECT number FROM kept") == 7
    second.close()
    wait_until_stopped(project)
    assert not postgres.describe(project).running
    with postgres.attach(project) as again:
        assert one(again.conninfo, "SELECT number FROM kept") == 7


def test_twenty_processes_that_attach_at_once_to_nothing_share_one_server(empty: Path, program: Program) -> None:
    processes = [program(STAY, empty) for _ in range(20)]
    servers = {first_line(process) for process in processes}
    assert len(servers) == 1
    assert servers == {str(postgres.describe(empty).pid)}
    assert set(postgres.describe(empty).users) == {process.pid for process in processes}


def test_the_server_survives_the_kill_of_whoever_started_it(project: Path, program: Program) -> None:
    starter = program(STAY, project)
    server = first_line(starter)
    with postgres.attach(project) as attachment:
        starter.kill()
        starter.wait()
        assert one(attachment.conninfo, "SELECT 1") == 1
        assert str(postgres.describe(project).pid) == server


def test_the_server_stops_when_its_only_user_is_killed(
    project: Path, program: Program, wait_until_stopped: Callable[[Path], None]
) -> None:
    user = program(STAY, project)
    assert first_line(user)
    user.kill()
    wait_until_stopped(project)


def test_a_user_killed_while_the_server_is_made_leaves_nothing_half_made(
    empty: Path, program: Program, wait_until: Wait, wait_until_stopped: Callable[[Path], None]
) -> None:
    starter = program(STAY, empty)
    wait_until(lambda: list(empty.glob("data.new-*/PG_VERSION")))
    starter.kill()
    starter.wait()
    wait_until_stopped(empty)
    assert not (empty / "data").exists()
    with postgres.attach(empty) as attachment:
        assert one(attachment.conninfo, "SELECT 1") == 1
    assert not list(empty.glob("data.new-*"))


def test_a_user_killed_while_the_server_starts_leaves_none_running(
    project: Path, program: Program, wait_until: Wait, wait_until_stopped: Callable[[Path], None]
) -> None:
    starter = program(STAY, project)
    wait_until((project / "data" / "postmaster.pid").exists)
    starter.kill()
    starter.wait()
    wait_until_stopped(project)


def test_who_arrives_while_the_server_stops_waits_and_starts_it_again(project: Path) -> None:
    for _ in range(5):
        with postgres.attach(project) as attachment:
            assert one(attachment.conninfo, "SELECT 1") == 1


def test_attaching_to_a_running_server_starts_nothing_and_waits_for_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the server runs already")

    with postgres.attach(project) as first:
        monkeypatch.setattr(subprocess, "Popen", refuse)
        monkeypatch.setattr(os, "fork", refuse)
        monkeypatch.setattr(time, "sleep", refuse)
        with postgres.attach(project) as second:
            assert second.conninfo == first.conninfo
        monkeypatch.undo()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only how many


def test_attaching_again_and_again_in_one_process_opens_one_file(project: Path) -> None:
    with contextlib.ExitStack() as attachments:
        attachments.enter_context(postgres.attach(project))
        before = open_files()
        for _ in range(20):
            attachments.enter_context(postgres.attach(project))
        assert open_files() == before
        assert postgres.describe(project).users == (os.getpid(),)


def test_the_server_stays_until_a_process_has_left_as_often_as_it_attached(
    project: Path, wait_until_stopped: Callable[[Path], None]
) -> None:
    first, second = postgres.attach(project), postgres.attach(project)
    second.close()
    second.close()
    assert postgres.describe(project).users == (os.getpid(),)
    del second
    third = postgres.attach(project)
    first.close()
    assert postgres.describe(project).users == (os.getpid(),)
    third.close()
    assert postgres.describe(project).users == ()
    wait_until_stopped(project)


def test_an_attachment_that_nobody_has_any_more_keeps_nothing_up(
    project: Path, wait_until_stopped: Callable[[Path], None]
) -> None:
    postgres.attach(project)
    wait_until_stopped(project)


def test_a_folder_that_was_removed_and_made_anew_is_attached_to_anew(project: Path, whole: Path) -> None:
    with postgres.attach(project):
        postgres.stop(project)
        shutil.rmtree(project)
        subprocess.run(["/bin/cp", "--archive", whole, project], check=True)
        with postgres.attach(project) as attachment:
            assert postgres.describe(project).users == (os.getpid(),)
            assert one(attachment.conninfo, "SELECT 1") == 1


ATTACH_IN_CHILD = """
parents = postgres.attach(folder)
told, tell = os.pipe()
if os.fork() == 0:
    with postgres.attach(folder):
        parents.close()
        print(postgres.describe(folder).users == (os.getppid(), os.getpid()), flush=True)
        os.close(tell)
        os.read(told, 1)  # until the parent has left
        print(postgres.describe(folder).users == (os.getpid(),), flush=True)
    os._exit(0)
os.close(told)
sys.stdin.readline()
parents.close()
os.close(tell)
os.wait()
"""


def test_a_forked_child_attaches_for_itself(project: Path, program: Program) -> None:
    parent = program(ATTACH_IN_CHILD, project)
    assert first_line(parent) == "True"
    assert parent.stdin is not None
    parent.stdin.write("leave\n")
    parent.stdin.flush()
    assert first_line(parent) == "True"
    assert parent.wait(60) == 0


async def test_reviving_a_server_again_and_again_opens_no_more_files(project: Path) -> None:
    async with located(project.parent) as found:
        await found.revive()
        before = open_files()
        for _ in range(20):
            await found.revive()
        assert open_files() == before


async def test_a_server_that_has_ended_is_revived_and_stays_until_its_user_leaves(
    project: Path, wait_until_stopped: Callable[[Path], None]
) -> None:
    async with located(project.parent) as found:
        for _ in range(2):
            assert postgres.stop(project)
            await found.revive()
            assert postgres.describe(project).users == (os.getpid(),)
            assert one(found.conninfo, "SELECT 1") == 1
    wait_until_stopped(project)


def test_a_killed_warden_is_replaced_by_the_next_who_attaches(
    project: Path, wait_until: Wait, wait_until_stopped: Callable[[Path], None]
) -> None:
    first = postgres.attach(project)
    warden = noted_process(lock_path(project, "warden"))
    assert warden is not None
    os.kill(warden, signal.SIGKILL)
    wait_until(lambda: noted_process(lock_path(project, "warden")) is None)
    server = postgres.describe(project).pid
    second = postgres.attach(project)
    assert postgres.describe(project).pid == server
    assert noted_process(lock_path(project, "warden")) not in (None, warden)
    first.close()
    second.close()
    wait_until_stopped(project)


def test_the_warden_is_small_and_idle(project: Path) -> None:
    with postgres.attach(project):
        process = Path(f"/proc/{noted_process(lock_path(project, 'warden'))}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        assert int(status["VmRSS"].split()[0]) < 16_000, "kilobytes"
        assert "detent" not in (process / "maps").read_text(), "only the interpreter's own modules"
        assert {(process / "fd" / str(number)).readlink() for number in range(3)} == {Path("/dev/null")}


def test_neither_the_server_nor_the_warden_belongs_to_the_session_of_its_starter(project: Path) -> None:
    with postgres.attach(project):
        server = postgres.describe(project).pid
        warden = noted_process(lock_path(project, "warden"))
        assert server is not None
        assert warden is not None
        assert os.getsid(0) not in (os.getsid(server), os.getsid(warden))


def test_ctrl_c_ends_the_starter_and_not_the_server(project: Path, program: Program) -> None:
    starter = program(STAY, project, start_new_session=True, stderr=subprocess.DEVNULL)
    server = first_line(starter)
    with postgres.attach(project) as attachment:
        os.killpg(starter.pid, signal.SIGINT)
        starter.wait()
        assert one(attachment.conninfo, "SELECT 1") == 1
        assert str(postgres.describe(project).pid) == server


def test_a_command_in_a_pipe_ends_though_the_server_stays(project: Path, program: Program) -> None:
    command = program("postgres.hold(folder); print('done')", project, stderr=subprocess.STDOUT)
    output, _ = command.communicate(timeout=60)
    assert output == "done\n"
    assert postgres.describe(project).running


FORK = """
attachment = postgres.attach(folder)
if os.fork() == 0:
    attachment.close()
    print("child", flush=True)
    os.execvp("sleep", ["sleep", "1000"]) if sys.argv[2:] else time.sleep(1000)
else:
    time.sleep(1000)
"""


def test_a_forked_child_neither_keeps_the_server_nor_lets_it_go(
    project: Path, program: Program, wait_until_stopped: Callable[[Path], None]
) -> None:
    parent = program(FORK, project, start_new_session=True)
    assert first_line(parent) == "child"
    try:
        assert postgres.describe(project).users == (parent.pid,)
        assert postgres.describe(project).running
        parent.kill()
        wait_until_stopped(project)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)


def test_a_held_server_stays_without_users_until_it_is_stopped(project: Path) -> None:
    postgres.hold(project)
    server = postgres.describe(project)
    postgres.hold(project)
    assert postgres.describe(project).pid == server.pid
    assert server.running
    assert server.held
    assert server.users == ()
    with postgres.attach(project) as attachment:
        assert one(attachment.conninfo, "SELECT 1") == 1
    assert postgres.stop(project)
    stopped = postgres.describe(project)
    assert not stopped.running
    assert not stopped.held
    assert not postgres.stop(project)


def test_stopping_disconnects_users_and_the_next_who_attaches_starts_again(project: Path) -> None:
    first = postgres.attach(project)
    with psycopg.connect(first.conninfo, autocommit=True) as connection:
        assert postgres.stop(project)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with postgres.attach(project) as second:
        assert one(second.conninfo, "SELECT 1") == 1
        assert one(first.conninfo, "SELECT 1") == 1
    first.close()


def test_describing_a_folder_without_a_database_makes_nothing(room: Path) -> None:
    assert postgres.describe(room / ".detent") == postgres.ServerInfo(running=False)
    assert not postgres.stop(room / ".detent")
    assert not (room / ".detent").exists()


def test_a_description_names_what_runs(project: Path) -> None:
    with postgres.attach(project) as attachment:
        found = postgres.describe(project)
        assert found.running
        assert found.version is not None
        assert str(one(attachment.conninfo, "SHOW server_version")).startswith(found.version)
        assert found.data_folder == Path(str(one(attachment.conninfo, "SHOW data_directory")))
        assert found.size_bytes > 20_000_000
        assert found.users == (os.getpid(),)
        assert not found.held

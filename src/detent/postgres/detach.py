"""Makes a command an independent process, with neither parent nor terminal. Run as a script.

The starter runs it in a new session and waits for it; the command then belongs to the system's first process, and
neither Ctrl-C nor the end of its starter reaches it.

Arguments: the open file in which to note the process number, or `-`; the numbers of the user and group to become,
or `-`; `clean` for an environment without inherited variables, or `same`; and the command.
"""

import os
import sys

CLEAN_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"}


def main(note: str, user: str, group: str, environment: str, *command: str) -> None:
    """Leave the command behind, running."""
    if os.fork():
        os._exit(0)
    if note != "-":
        os.pwrite(int(note), b"%-12d\n" % os.getpid(), 0)
    if user != "-":
        os.setgroups([])
        os.setgid(int(group))
        os.setuid(int(user))
    inherited = CLEAN_ENVIRONMENT if environment == "clean" else os.environ
    os.execve(command[0], command, inherited)  # noqa: S606 - the command is ours, and a shell is what we avoid


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The machine's folder for what root's projects cannot keep inside: `/var/lib/detent`.

Its folders belong to root; others may pass through, but not list them. `DETENT_SERVER_HOME` names another place.
"""

import os
import stat
from pathlib import Path

from detent.errors import FolderUnusable
from detent.postgres.account import Account


def path() -> Path:
    """Return the path of the folder."""
    return Path(os.environ.get("DETENT_SERVER_HOME", "/var/lib/detent"))


def prepare(name: str, account: Account) -> Path:
    """Create a folder in it that the account may reach and only root may change."""
    folder = path().absolute()
    for part in (folder, folder / name):
        part.mkdir(mode=0o711, parents=True, exist_ok=True)
        found = part.stat()
        if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise FolderUnusable(part, "users other than root may change it")
    if not account.may_reach(folder / name / "anything"):
        raise FolderUnusable(folder, f"the account {account.name}, which serves it, cannot reach it")
    return folder / name

"""Secrets of sources, such as passwords and keys: read from the environment, or from a file of the owner's.

A variable wins over the file. The file is `.detent/secrets.toml` in the project, or the one that the variable
`DETENT_SECRETS_FILE` names; nobody but its owner may read it:

    [feeds]
    token = "…"

Secrets are handed to sources and to nobody else. Each that was read is known here from then on, so that `scrubbed` can
take it out of all texts that are kept or shown.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from detent.errors import InvalidConfiguration, InvalidSetting
from detent.services.secrets import hidden

PREFIX = "DETENT_SECRET_"
FILE_VARIABLE = "DETENT_SECRETS_FILE"

_FILE = "secrets.toml"
_HEADING = "# Secrets of this project's sources. Detent refuses to read it if others can: chmod 600.\n"
_SHORTEST_SCRUBBED = 4
"""Shorter values stand in too many texts by chance."""

_known: set[str] = set()


class Keyring:
    """The secrets of the sources of one project, or of programs without one."""

    def __init__(self, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        named = self._environment.get(FILE_VARIABLE, "").strip()
        self.file = Path(named).expanduser() if named else folder / _FILE if folder else None

    def read(self, source: str, variables: Mapping[str, str | None]) -> dict[str, str]:
        """The secrets of a source that are set, by name. `variables` has the names that are asked for, each with the
        environment variable that holds it, None for the usual one."""
        found = {}
        kept: Mapping[str, Any] | None = None
        for name, variable in variables.items():
            value = self._environment.get(variable or variable_of(source, name), "").strip()
            if not value:
                kept = self._kept().get(source, {}) if kept is None else kept
                value = kept.get(name, "")
            if value:
                found[name] = value
        know(found.values())
        return found

    def keep(self, source: str, secrets: Mapping[str, str]) -> None:
        """Write secrets of a source into the file, in place of those of the same names."""
        if not secrets:
            return
        know(secrets.values())
        if self.file is None:
            name = next(iter(secrets))
            raise InvalidSetting(
                f"There is no file to keep the {name} of {source!r} in: no project is open. "
                f"Set the environment variable {variable_of(source, name)} instead."
            )
        kept = self._kept()
        _write(self.file, {**kept, source: {**kept.get(source, {}), **secrets}})

    def forget(self, source: str) -> None:
        """Remove the secrets of a source from the file."""
        kept = self._kept()
        if self.file is not None and source in kept:
            _write(self.file, {name: secrets for name, secrets in kept.items() if name != source})

    def _kept(self) -> dict[str, dict[str, str]]:
        try:
            if self.file is None or not (status := self.file.stat()):
                return {}
            if status.st_mode & 0o077 or status.st_uid not in (0, os.geteuid()):
                raise InvalidConfiguration(
                    f"{self.file} holds secrets, and others than its owner can read or change it. "
                    f"Make it yours alone: chmod 600 {self.file}"
                )
            kept = tomllib.loads(self.file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InvalidConfiguration(f"{self.file} cannot be read: {error.strerror}.") from None
        except ValueError:  # what it says quotes a line of the file
            raise InvalidConfiguration(f"{self.file} is no valid TOML. Correct it; it is not shown here.") from None
        if not all(isinstance(each, dict) and all(isinstance(v, str) for v in each.values()) for each in kept.values()):
            raise InvalidConfiguration(
                f'{self.file} needs a table for each source, such as [feeds], with name = "value".'
            )
        return kept


def variable_of(source: str, name: str) -> str:
    """The environment variable that holds a secret of a source: `DETENT_SECRET_FEEDS_TOKEN`."""
    return PREFIX + re.sub(r"\W", "_", f"{source}_{name}", flags=re.ASCII).upper()


def know(secrets: Iterable[str]) -> None:
    """Take these out of what is kept or shown from now on, and out of what is logged."""
    told = {secret for secret in secrets if len(secret) >= _SHORTEST_SCRUBBED}
    if told and not _known:
        _scrub_logs()
    _known.update(told)


def scrubbed(text: str) -> str:
    """The text with `***` in place of every secret that this process has read."""
    return hidden(text, _known) if _known else text


def _write(path: Path, kept: Mapping[str, Mapping[str, str]]) -> None:
    """Replace the file by one that nobody else can read at any moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, written = tempfile.mkstemp(dir=path.parent, prefix=f".{_FILE}")  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_HEADING + "".join(_lines(kept)))
        Path(written).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(written).unlink()
        raise


def _lines(kept: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for source, secrets in kept.items():
        yield f"\n[{_quoted(source)}]\n"
        yield from (f"{_quoted(name)} = {_quoted(value)}\n" for name, value in secrets.items())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _scrub_logs() -> None:
    """Take secrets out of all log records of this process, also out of what httpx logs when it is asked to."""
    make = logging.getLogRecordFactory()

    def scrubbing(*arguments: Any, **details: Any) -> logging.LogRecord:
        record = make(*arguments, **details)
        if record.exc_info and not record.exc_text:
            record.exc_text = scrubbed(logging.Formatter().formatException(record.exc_info))
        with contextlib.suppress(Exception):  # a message that does not fit its arguments is reported by the handler
            record.msg, record.args = scrubbed(record.getMessage()), ()
        return record

    logging.setLogRecordFactory(scrubbing)

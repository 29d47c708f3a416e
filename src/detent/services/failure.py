"""Failures of services: the trouble, whether and when it is worth asking again, and a sentence for a person."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from detent.errors import DetentError
from detent.lifecycle import Trouble, retry_after_seconds
from detent.lifecycle.trouble import classify_status
from detent.services.pace import Wait
from detent.services.secrets import hidden

_REASON_CHARACTERS = 300
_LONGEST_PAGE = 16_384
_MARKUP = re.compile(r"<(?:script|style|head)\b.*?</(?:script|style|head)\s*>|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_AWAY = (401, 407, 502, 503, 511, 521, 522, 523)
"""Statuses that have to do with whoever asks, or with what stands before a service and does not reach it. 403 may mean
one document that is closed."""
_WORDS_IN = ("error", "errors", "detail", "message", "msg", "title")
"""The JSON fields in which services give the reason of a refusal."""


class ServiceFailed(DetentError):
    """A service cannot be asked, refused to answer, or gave no answer that can be used; the message says which.

    `what` is that, without the address. `trouble` tells whether it is worth asking again, and `retry_after` not before
    how many seconds. `code` is the service's own name for its refusal. `away`: it has nothing to do with what was
    asked, so that no item is to blame. `held`: the service was not even asked, because it is being left alone. `told`:
    it is left alone because of this.
    """

    noun: ClassVar[str] = "service"
    blameless: ClassVar[frozenset[Trouble]] = frozenset({Trouble.RATE_LIMITED})
    """Trouble that nothing that was asked for can be to blame for."""

    def __init__(
        self, address: str, what: str, trouble: Trouble, *, retry_after: float | None = None, code: str = ""
    ) -> None:
        self.address, self.what = address, what.rstrip(".")
        super().__init__(self._sentence)
        self.trouble, self.retry_after, self.code = trouble, retry_after, code
        self.away = trouble in self.blameless
        self.held = self.told = False

    @property
    def _sentence(self) -> str:
        return f"The {self.noun} {self.address} {self.what}."

    def hide(self, secrets: Iterable[str]) -> None:
        """Take these secrets out of the message: a service may repeat what it was sent."""
        self.what = hidden(self.what, secrets)
        self.args = (self._sentence,)


F = TypeVar("F", bound=ServiceFailed)


def left_alone(error: type[F], address: str, wait: Wait) -> F:
    """The failure of not asking a service at all, which is to be left alone for so long."""
    what = f"is left alone for another {_span(wait.seconds)}" + (f": it {wait.reason}" if wait.reason else "")
    failure = error(address, what, Trouble.RATE_LIMITED, retry_after=wait.seconds)
    failure.held = True
    return failure


def refused(error: type[F], address: str, status: int, headers: Mapping[str, str], body: bytes) -> F:
    """The failure that a response means whose status is not that of a success."""
    name = status_name(status)
    if status < HTTPStatus.BAD_REQUEST:
        what, trouble = f"answers with {name}" + _elsewhere(headers), Trouble.REJECTED
    else:
        words = said(body)
        what, trouble = f"refused with {name}" + (f": {words}" if words else ""), classify_status(status)
    failure = error(address, what, trouble, retry_after=wait_of(headers), code=code_of(body))
    failure.away |= status in _AWAY or status < HTTPStatus.BAD_REQUEST
    return failure


def status_name(status: int) -> str:
    """A status with its words, where it has any: `404 Not Found`, `599`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def wait_of(headers: Mapping[str, str]) -> float | None:
    """The seconds that a response asks to wait. A date is compared with the clock that wrote it, if it tells its
    time."""
    try:
        now = parsedate_to_datetime(headers.get("Date", ""))
    except ValueError:
        now = datetime.now(UTC)
    return retry_after_seconds(headers.get("Retry-After"), now.replace(tzinfo=now.tzinfo or UTC))


def said(body: bytes) -> str:
    """The reason in the body of a refusal: of JSON its message, of a web page its text."""
    found = _json(body)
    if not isinstance(found, dict | list):
        return one_line(_MARKUP.sub(" ", body[:_LONGEST_PAGE].decode(errors="replace")))
    while isinstance(found, dict | list) and found:
        if isinstance(found, list):
            found = found[0]
        else:
            found = next((found[name] for name in _WORDS_IN if found.get(name)), None)
    return one_line(found) if isinstance(found, str) else ""


def code_of(body: bytes) -> str:
    """The service's own name for its refusal, in JSON: `{"error": {"code": "API_KEY_INVALID"}}`."""
    found = _json(body)
    told = found.get("error") if isinstance(found, dict) else None
    code = told.get("code") if isinstance(told, dict) else None
    return one_line(code) if isinstance(code, str) else ""


def one_line(text: str) -> str:
    """As much of a text from outside as is repeated: one line, and not a long one."""
    line = " ".join(text.split())
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 2] + " …"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _elsewhere(headers: Mapping[str, str]) -> str:
    where = one_line(headers.get("Location", "").partition("?")[0])
    return f" and points to {where}; is that its address?" if where else ""


def _span(seconds: float) -> str:
    """A while in words, rounded up: `1 second`, `90 seconds`, `45 minutes`, `26 hours`."""
    if seconds <= 1:
        return "1 second"
    for unit, length in (("seconds", 1), ("minutes", 60)):
        if seconds <= 120 * length:
            return f"{math.ceil(seconds / length)} {unit}"
    return f"{math.ceil(seconds / 3600):,} hours"

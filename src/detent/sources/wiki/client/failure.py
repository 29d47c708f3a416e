"""What goes wrong when a wiki is asked, and whether it is worth asking again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from detent.errors import DetentError
from detent.knowledge import Wait
from detent.lifecycle import Trouble, retry_after_seconds
from detent.lifecycle.trouble import classify_status

TOO_MANY = "toomanyvalues"
"""What a wiki says to more titles than it answers at once."""

LAG_SECONDS = 5.0
"""How long a wiki is left alone that is behind with its copies and does not say how long."""

RIGHT_ADDRESS = "Is the address right? It often ends in /w/api.php"

_WHO = "wants to know who asks. Give a contact, an e-mail address or a page about you, for the User-Agent."
_REASON_CHARACTERS = 300
_LONGEST_PAGE = 16_384
_MARKUP = re.compile(r"<(?:script|style|head)\b.*?</(?:script|style|head)\s*>|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_AGENT = re.compile(r"user.?agent|robot policy", re.IGNORECASE)

_OF_THE_WIKI = (Trouble.RATE_LIMITED, Trouble.FORBIDDEN, Trouble.REJECTED)
"""Trouble that the API itself has, or with whoever asks: no title can be to blame for it."""
_AWAY = (502, 503, 511, 521, 522, 523)
"""What those answer that stand before a wiki, and do not reach it or let nobody through."""
_NOT_NOW = ("maxlag", "readonly")
_BY_CODE = {
    "maxlag": Trouble.SERVER,
    "ratelimited": Trouble.RATE_LIMITED,
    "actionthrottledtext": Trouble.RATE_LIMITED,
    "readonly": Trouble.SERVER,
    "cirrussearch-too-busy-error": Trouble.SERVER,
    "search-error": Trouble.SERVER,
    "readapidenied": Trouble.FORBIDDEN,
    "permissiondenied": Trouble.FORBIDDEN,
    "mustbeloggedin": Trouble.FORBIDDEN,
    "assertuserfailed": Trouble.FORBIDDEN,
    "blocked": Trouble.FORBIDDEN,
    "autoblocked": Trouble.FORBIDDEN,
}


class WikiFailed(DetentError):
    """A wiki cannot be asked, refused to answer, or gave no answer that can be used; the message says which.

    `what` is that, without the address. `trouble` tells whether it is worth asking again, and `retry_after` not before
    how many seconds. `code` is the wiki's own name for its refusal. `away`: it has nothing to do with what was asked.
    `held`: it was not even asked, because it is being left alone. `told`: it is left alone because of this. `answered`
    has what was found out before it failed, for each title it is about: of those, nothing need be asked again.
    """

    def __init__(
        self, address: str, what: str, trouble: Trouble, *, retry_after: float | None = None, code: str = ""
    ) -> None:
        self.what = what.rstrip(".")
        super().__init__(f"The wiki {address} {self.what}.")
        self.trouble, self.retry_after, self.code = trouble, retry_after, code
        self.away = trouble in _OF_THE_WIKI or code in _NOT_NOW
        self.held = self.told = False
        self.answered: Mapping[str, Any] = {}


def left_alone(address: str, wait: Wait) -> WikiFailed:
    """A wiki is not to be asked for so long."""
    what = f"is left alone for another {_span(wait.seconds)}" + (f": it {wait.reason}" if wait.reason else "")
    failure = WikiFailed(address, what, Trouble.RATE_LIMITED, retry_after=wait.seconds)
    failure.held = True
    return failure


def refused(address: str, status: int, headers: Mapping[str, str], body: bytes) -> WikiFailed:
    """What a response means that is none of success. Its words may be a web page."""
    said = _told(_MARKUP.sub(" ", body[:_LONGEST_PAGE].decode(errors="replace")))
    name = f"{status} {_phrase(status)}".strip()
    if status < HTTPStatus.BAD_REQUEST:
        what, trouble = f"answers with {name}" + _elsewhere(headers), Trouble.REJECTED
    elif status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        # It is the API that is not there, and not an article.
        what, trouble = f"has no API there ({name}). {RIGHT_ADDRESS}", Trouble.REJECTED
    else:
        anonymous = status == HTTPStatus.FORBIDDEN and _AGENT.search(said) is not None
        refusal = f"{_WHO} It said {name}" if anonymous else f"refused with {name}"
        what, trouble = f"{refusal}: {said}" if said else refusal, classify_status(status)
    failure = WikiFailed(address, what, trouble, retry_after=_wait(headers))
    failure.away |= status in _AWAY
    return failure


def failed_answer(address: str, answer: Mapping[str, Any], headers: Mapping[str, str]) -> WikiFailed | None:
    """The error that a wiki tells in an answer, if it tells one; its status is often that of a success."""
    told, several = answer.get("error"), answer.get("errors")
    if told is None and several and isinstance(several, list):
        told = several[0]
    if not isinstance(told, Mapping):
        return None
    code = str(told.get("code", ""))
    info = _told(str(told.get("info") or told.get("text") or told.get("*") or ""))
    trouble, wait = _BY_CODE.get(code, Trouble.REJECTED), _wait(headers)
    what = f"refused with {code}" + (f": {info}" if info else "")
    if code == "maxlag":
        what, wait = f"is behind with its copies, and asks to wait: {info}", LAG_SECONDS if wait is None else wait
    elif code == "readapidenied":
        what = f"is private: reading needs an account there. It said {info}"
    elif code.startswith("internal_api_error"):
        trouble = Trouble.SERVER
    return WikiFailed(address, what, trouble, retry_after=wait, code=code)


def _elsewhere(headers: Mapping[str, str]) -> str:
    where = _told(headers.get("Location", "").partition("?")[0])
    return f" and points to {where}; is that its address?" if where else ""


def _wait(headers: Mapping[str, str]) -> float | None:
    """How long a response asks to wait. A date is compared with the clock that wrote it, if it tells its time."""
    try:
        now = parsedate_to_datetime(headers.get("Date", ""))
    except ValueError:
        now = datetime.now(UTC)
    return retry_after_seconds(headers.get("Retry-After"), now.replace(tzinfo=now.tzinfo or UTC))


def _span(seconds: float) -> str:
    """A while in words, rounded up: `1 second`, `90 seconds`, `45 minutes`, `26 hours`."""
    if seconds <= 1:
        return "1 second"
    for unit, length in (("seconds", 1), ("minutes", 60)):
        if seconds <= 120 * length:
            return f"{math.ceil(seconds / length)} {unit}"
    return f"{math.ceil(seconds / 3600):,} hours"


def _told(text: str) -> str:
    """What is repeated of a text from outside: one line, and not much of it."""
    line = " ".join(text.split())
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 2] + " …"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""

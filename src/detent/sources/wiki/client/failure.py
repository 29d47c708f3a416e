"""The meaning of a wiki's errors: how it refuses, and whether it is worth asking again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from detent.lifecycle import Trouble
from detent.services import failure
from detent.services.failure import ServiceFailed, one_line, said, status_name, wait_of

TOO_MANY = "toomanyvalues"
"""The code of the refusal of more titles than a wiki answers at once."""

LAG_SECONDS = 5.0
"""The time for which a wiki is left alone that is behind with its copies and does not say how long."""

RIGHT_ADDRESS = "Is the address right? It often ends in /w/api.php"

_WHO = "wants to know who asks. Give a contact, an e-mail address or a page about you, for the User-Agent."
_AGENT = re.compile(r"user.?agent|robot policy", re.IGNORECASE)
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


class WikiFailed(ServiceFailed):
    """A wiki cannot be asked, refused to answer, or gave no answer that can be used; the message says which.

    No title can be to blame for what the API has against the question. `answered` has what was found out before it
    failed, for each title it is about: of those, nothing need be asked again.
    """

    noun = "wiki"
    blameless = frozenset({Trouble.RATE_LIMITED, Trouble.FORBIDDEN, Trouble.REJECTED})

    def __init__(
        self, address: str, what: str, trouble: Trouble, *, retry_after: float | None = None, code: str = ""
    ) -> None:
        super().__init__(address, what, trouble, retry_after=retry_after, code=code)
        self.away |= code in _NOT_NOW
        self.answered: Mapping[str, Any] = {}


def refused(address: str, status: int, headers: Mapping[str, str], body: bytes) -> WikiFailed:
    """The failure that a response means whose status is not that of a success. Its words may be a web page."""
    words, name, wait = said(body), status_name(status), wait_of(headers)
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        # It is the API that is not there, and not an article.
        what = f"has no API there ({name}). {RIGHT_ADDRESS}"
        return WikiFailed(address, what, Trouble.REJECTED, retry_after=wait)
    if status == HTTPStatus.FORBIDDEN and _AGENT.search(words) is not None:
        return WikiFailed(address, f"{_WHO} It said {name}: {words}", Trouble.FORBIDDEN, retry_after=wait)
    return failure.refused(WikiFailed, address, status, headers, body)


def failed_answer(address: str, answer: Mapping[str, Any], headers: Mapping[str, str]) -> WikiFailed | None:
    """The error that a wiki tells in an answer, if it tells one; its status is often that of a success."""
    told, several = answer.get("error"), answer.get("errors")
    if told is None and several and isinstance(several, list):
        told = several[0]
    if not isinstance(told, Mapping):
        return None
    code = str(told.get("code", ""))
    info = one_line(str(told.get("info") or told.get("text") or told.get("*") or ""))
    trouble, wait = _BY_CODE.get(code, Trouble.REJECTED), wait_of(headers)
    what = f"refused with {code}" + (f": {info}" if info else "")
    if code == "maxlag":
        what, wait = f"is behind with its copies, and asks to wait: {info}", LAG_SECONDS if wait is None else wait
    elif code == "readapidenied":
        what = f"is private: reading needs an account there. It said {info}"
    elif code.startswith("internal_api_error"):
        trouble = Trouble.SERVER
    return WikiFailed(address, what, trouble, retry_after=wait, code=code)

"""An embedding service behind HTTP: one question, one answer, or an error that says what kind of trouble it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from detent.configuration import EmbeddingSettings
from detent.errors import InvalidSetting, MalformedAnswer, ServiceAway, ServiceRefused, ServiceTooSlow

TIMEOUT_SECONDS = 60.0
_REASON_CHARACTERS = 300


class Refusal(NamedTuple):
    """What the rest of Detent needs of a response to decide when to try again."""

    status_code: int
    headers: Mapping[str, str]


class Endpoint:
    """A service at an address. The key leaves this object in the request's header only."""

    def __init__(self, settings: EmbeddingSettings, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.address = settings.base_url.rstrip("/")
        self._key = _key(settings.api_key_env)
        self._timeout_seconds = timeout_seconds
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            self._client = httpx.Client(headers=headers, timeout=timeout_seconds)
            self._url = httpx.URL(f"{self.address}/embeddings")
        except httpx.InvalidURL as error:
            raise InvalidSetting(f"embedding.base_url cannot be read: {error}.") from None

    def ask(self, question: Mapping[str, Any]) -> Any:
        """The service's answer to a request for vectors, as it came."""
        try:
            response = self._client.post(self._url, json=question)
        except httpx.TimeoutException:
            raise ServiceTooSlow(self.address, self._timeout_seconds) from None
        except httpx.DecodingError as error:
            raise MalformedAnswer(self.address, self._told(str(error))) from None
        except httpx.HTTPError as error:
            raise ServiceAway(self.address, self._told(str(error)) or type(error).__name__) from None
        if response.status_code != httpx.codes.OK:
            raise self._refused(response)
        try:
            return response.json()
        except (ValueError, RecursionError):
            raise MalformedAnswer(self.address, "it is not JSON") from None

    def close(self) -> None:
        self._client.close()

    def _refused(self, response: httpx.Response) -> ServiceRefused | MalformedAnswer:
        status = f"{response.status_code} {response.reason_phrase}".strip()
        if response.status_code < httpx.codes.BAD_REQUEST:
            return MalformedAnswer(self.address, f"its status is {status}; is base_url right?")
        wait = response.headers.get("Retry-After")
        headers = {"Retry-After": wait} if wait else {}
        said = self._told(_message(response))
        return ServiceRefused(
            self.address, f"{status}: {said}" if said else status, Refusal(response.status_code, headers)
        )

    def _told(self, text: str) -> str:
        """What may be told of a text that came from outside: not the key, which some services repeat, and not much."""
        shown = text.replace(self._key, "***") if self._key else text
        line = " ".join(shown.split())
        return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 2] + " …"


def _message(response: httpx.Response) -> str:
    """What the service says about its refusal: OpenAI's `error.message`, or what others have in its place."""
    try:
        found = response.json()
    except (ValueError, RecursionError):
        return ""
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and key in found:
            found = found[key]
    return found if isinstance(found, str) else ""


def _key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InvalidSetting(
            f"The environment variable {variable}, which embedding.api_key_env names, is not set. "
            'Set it to the key, or write api_key_env = "" in [embedding] for a service that needs none.'
        )
    if not (key.isascii() and key.isprintable()):
        raise InvalidSetting(f"The environment variable {variable} does not hold a key: it has characters no key has.")
    return key

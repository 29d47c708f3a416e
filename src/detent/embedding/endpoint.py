"""An embedding service behind HTTP: one question, one answer, or an error that says what kind of trouble it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from detent.configuration import EmbeddingSettings
from detent.configuration.masking import masked
from detent.errors import InvalidSetting, MalformedAnswer, ServiceAway, ServiceRefused, ServiceTooSlow
from detent.services import failure
from detent.services.address import read_address
from detent.services.secrets import hidden, hidden_in, is_sendable

TIMEOUT_SECONDS = 60.0


class Refusal(NamedTuple):
    """The part of a response from which the rest of Detent decides when to retry."""

    status_code: int
    headers: Mapping[str, str]


class Endpoint:
    """A service at an address. The key leaves this object in the request's header only."""

    def __init__(self, settings: EmbeddingSettings, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.address = masked(settings.base_url.rstrip("/"))
        key = _key(settings.api_key_env)
        self._timeout_seconds = timeout_seconds
        url = _url(settings.base_url)
        # Apart from the address, which is what libraries write into logs.
        password = httpx.BasicAuth(url.username, url.password) if url.userinfo and not key else None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers=headers, auth=password, timeout=timeout_seconds)
        self._secrets = (key, url.password)
        self._url = url.copy_with(username="", password="", path=f"{url.path.rstrip('/')}/embeddings")

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
        said = failure.said(hidden_in(response.content, self._secrets))
        return ServiceRefused(
            self.address, f"{status}: {said}" if said else status, Refusal(response.status_code, headers)
        )

    def _told(self, text: str) -> str:
        """As much of a text from outside as may be told: no secret, which some services repeat, and one line."""
        return failure.one_line(hidden(text, self._secrets))


def _url(written: str) -> httpx.URL:
    try:
        return read_address(written)
    except failure.ServiceFailed as error:
        raise InvalidSetting(f"embedding.base_url cannot be read: {error.what}.") from None


def _key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InvalidSetting(
            f"The environment variable {variable}, which embedding.api_key_env names, is not set. "
            'Set it to the key, or write api_key_env = "" in [embedding] for a service that needs none.'
        )
    if not is_sendable(key):
        raise InvalidSetting(f"The environment variable {variable} does not hold a key: it has characters no key has.")
    return key

"""Credentials, and how they are kept out of everything that a person or a log sees."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, quote_plus

from detent.configuration.masking import MASK
from detent.errors import InvalidSetting


@dataclass(frozen=True)
class Credential:
    """A key to a service, and the header or query parameter in which it is sent.

    Credential("X-Api-Key", key)
    Credential("Authorization", key, prefix="Token ")
    Credential("api_key", key, place="query")
    """

    name: str
    value: str = field(repr=False)
    place: Literal["header", "query"] = "header"
    prefix: str = ""

    def __post_init__(self) -> None:
        if not self.value or not is_sendable(self.value):
            raise InvalidSetting(f"The key to be sent as {self.name} is empty, or has characters that no key has.")


def is_sendable(key: str) -> bool:
    """Tell whether a header or an address can hold this key."""
    return key.isascii() and key.isprintable()


def hidden(text: str, secrets: Iterable[str]) -> str:
    """The text with `***` in place of each secret, whether it is written as it is, in an address, or in JSON."""
    for form in _forms(secrets):
        text = text.replace(form, MASK)
    return text


def hidden_in(body: bytes, secrets: Iterable[str]) -> bytes:
    """The same for bytes: before anything is cut off, so that no piece of a secret is left."""
    for form in _forms(secrets):
        body = body.replace(form.encode(), MASK.encode())
    return body


def basic(user: str, password: str) -> str:
    """The value of the header `Authorization` for a user and a password."""
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def _forms(secrets: Iterable[str]) -> list[str]:
    """The secrets as they may be written, the longest first."""
    forms = {form for each in secrets if each for form in (each, quote(each), quote(each, safe=""), quote_plus(each))}
    return sorted(forms | {json.dumps(form)[1:-1] for form in forms}, key=len, reverse=True)

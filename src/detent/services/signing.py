"""Signing requests: with a password, a key in a header, or a key in the parameters, which no log shows."""

from __future__ import annotations

from collections.abc import Generator

import httpx

from detent.configuration.masking import MASK
from detent.services.secrets import Credential, basic


def headers_of(agent: str, url: httpx.URL, credential: Credential | None) -> list[tuple[bytes, bytes]]:
    """The headers of every request: who asks, and what lets them."""
    name = " ".join(f"{agent} httpx/{httpx.__version__}".split())
    headers = [(b"User-Agent", name.encode(errors="replace"))]
    if url.userinfo:
        headers.append((b"Authorization", basic(url.username, url.password).encode()))
    if credential is not None and credential.place == "header":
        headers.append((credential.name.encode(), f"{credential.prefix}{credential.value}".encode()))
    return headers


class InQuery(httpx.Auth):
    """Adds a credential to the parameters of a request, at the last moment."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        name, value = self._credential.name, self._credential.value
        shown = str(request.url.copy_set_param(name, MASK))
        request.url = _Signed(request.url.copy_set_param(name, value), shown)
        yield request


class _Signed(httpx.URL):
    """An address with a credential in it, which is written into logs without it."""

    def __init__(self, url: httpx.URL, shown: str) -> None:
        super().__init__(url)
        self._shown = shown

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

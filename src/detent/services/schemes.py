"""Telling that https is spoken where somebody asked over http, or the other way round."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from http import HTTPStatus

import httpx

_REFUSALS = re.compile(
    rb"plain HTTP request was sent to HTTPS port|speaking plain HTTP to an SSL|HTTP request to an HTTPS server"
)
"""The words of nginx, Apache and servers written in Go."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")
"""OpenSSL's names for an answer that is not TLS."""


def speaks_no_tls(error: httpx.HTTPError) -> bool:
    """Tell whether what came back to a greeting in TLS was something else."""
    return any(isinstance(each, ssl.SSLError) and each.reason in _NO_TLS for each in _causes(error))


def wants_tls(status: int, body: bytes) -> bool:
    """Tell whether a server says that it wants to be asked over https."""
    return status == HTTPStatus.BAD_REQUEST and _REFUSALS.search(body) is not None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__

"""The way to a wiki's API: a request goes out, and an answer comes back, or an error that says why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from detent.services import address
from detent.services.connection import Connection, Reply, Request
from detent.services.failure import ServiceFailed
from detent.sources.wiki.client.failure import RIGHT_ADDRESS, WikiFailed, failed_answer, refused

LONGEST_ADDRESS = 6_000
"""Characters of a GET request's address. Servers take 8,000; a longer request is posted."""


class WikiConnection(Connection):
    """The API at an address. Some of its errors have the status of a success."""

    error = WikiFailed
    expected = f"as the API of a MediaWiki. {RIGHT_ADDRESS}"
    shape = "that no MediaWiki has"

    async def answer(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The wiki's answer, which is not an error."""
        return await self.ask(self._question(parameters), self._read)

    def _question(self, parameters: Mapping[str, str]) -> Request:
        if sum(map(len, parameters.values())) <= LONGEST_ADDRESS:
            url = httpx.URL(self.address).copy_merge_params(dict(parameters))
            if len(str(url)) <= LONGEST_ADDRESS:
                return Request(parameters=parameters)
        # Without this promise, Wikimedia sends what is posted to the one data centre that may write.
        return Request(form=parameters, headers={"Promise-Non-Write-API-Action": "true"})

    def _read(self, reply: Reply) -> dict[str, Any]:
        answer = self.read_json(reply)
        if answer == []:  # what PHP writes for nothing
            return {}
        if not isinstance(answer, dict):
            raise self.unreadable(reply)
        if (failure := failed_answer(self.address, answer, reply.headers)) is not None:
            raise failure
        return answer

    def refused(self, reply: Reply) -> ServiceFailed:
        """The failure that another status than that of success means. Behind it may be an error as a wiki tells it."""
        failure = refused(self.address, reply.status, reply.headers, reply.body)
        try:
            answer = json.loads(reply.body)
        except (ValueError, RecursionError):
            return failure
        told = failed_answer(self.address, answer, reply.headers) if isinstance(answer, dict) else None
        return told if told is not None and (told.trouble.transient or not failure.trouble.transient) else failure


def read_address(api: str) -> httpx.URL:
    """The address, if the API of a wiki can be there."""
    return address.read_address(api, error=WikiFailed, example="https://en.wikipedia.org/w/api.php")

"""Texts shared by the batches of one process: a text that two of them have is embedded by the first."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any
from uuid import UUID

_MOST_NUMBERS = 2_000_000
"""Total dimensions of the remembered vectors, so that models of any size need little memory."""
_PATIENCE_SECONDS = 60.0
"""Time to wait for another batch. One that takes longer may have been cancelled."""

Vector = Any
Embed = Callable[[Sequence[UUID]], Sequence[Vector]]


class Sharing:
    """The vectors that are being made, and those that were made last."""

    def __init__(self) -> None:
        self._vectors: dict[UUID, Future[Vector]] = {}
        self._numbers = 0
        self._changing = threading.Lock()

    def embed(self, texts: Sequence[UUID], embed: Embed) -> dict[UUID, Vector]:
        """The vectors of texts: `embed` is asked for those that no other batch has made a moment ago or is making now.

        What is asked for is made before others are waited for, so that two batches never wait for each other.
        """
        own, others = self._begin(texts)
        made = self._make(own, embed)
        failed = []
        end = time.monotonic() + _PATIENCE_SECONDS
        for text, vector in others.items():
            try:
                made[text] = vector.result(max(0.0, end - time.monotonic()))
            except (CancelledError, TimeoutError):
                failed.append(text)
        return made | self._make(failed, embed)

    def _begin(self, texts: Sequence[UUID]) -> tuple[list[UUID], dict[UUID, Future[Vector]]]:
        with self._changing:
            others = {text: self._vectors[text] for text in texts if text in self._vectors}
            own = [text for text in texts if text not in others]
            self._vectors |= {text: Future() for text in own}
        return own, others

    def _make(self, texts: Sequence[UUID], embed: Embed) -> dict[UUID, Vector]:
        if not texts:
            return {}
        try:
            made = dict(zip(texts, embed(texts), strict=True))
        except BaseException:
            self._give_up(texts)
            raise
        self._keep(made)
        return made

    def _give_up(self, texts: Sequence[UUID]) -> None:
        """Let who waits for these make them."""
        with self._changing:
            for text in texts:
                self._drop(text)

    def _keep(self, made: dict[UUID, Vector]) -> None:
        with self._changing:
            for text, vector in made.items():
                kept = self._vectors.setdefault(text, Future())
                if not math.isfinite(vector @ vector):  # the next try may make a better one
                    self._drop(text)
                elif not kept.done():
                    kept.set_result(vector)
                    self._numbers += len(vector)
            for text in list(self._vectors):
                if self._numbers <= _MOST_NUMBERS:
                    return
                if self._vectors[text].done():
                    self._drop(text)

    def _drop(self, text: UUID) -> None:
        """Forget a text. Who waits for it makes its vector."""
        vector = self._vectors.pop(text, None)
        if vector is not None and not vector.cancel():
            self._numbers -= len(vector.result())

"""Passages to load and to search: made-up text with the word frequencies of a language, and vectors that go with it.

A passage is about a topic: some of its words are the topic's own, the others are drawn from the whole vocabulary,
where the n-th word is about n times rarer than the first. Its vector lies near that of its topic.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider
from detent.embedding.provider import Vectors
from detent.knowledge import Passage
from detent.lifecycle import PASSAGE

VOCABULARY = 60_000
TOPICS = 5_000
WORDS = 110
DIMENSIONS = 256
_LETTERS = "etaoinshrdlu"


class Synthetic(Provider):
    """Embeds as the passages were made: a text lies near the topic of its words."""

    name, model, dimensions, batch_size = "synthetic", "topics", DIMENSIONS, 256

    def __init__(self, settings: EmbeddingSettings | None = None) -> None:
        self._world = World()

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._world.vector_of_text(text) for text in texts])


class World:
    """The vocabulary and the topics, the same in every process."""

    def __init__(self, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)

    @cached_property
    def words(self) -> list[str]:
        return [_word(number) for number in range(VOCABULARY)]

    @cached_property
    def centres(self) -> NDArray[np.float32]:
        made = np.random.default_rng(11).standard_normal((TOPICS, DIMENSIONS)).astype(np.float32)
        parents = np.random.default_rng(12).standard_normal((TOPICS // 50, DIMENSIONS)).astype(np.float32)
        return _normal(made + 1.5 * parents[np.arange(TOPICS) % len(parents)])

    @cached_property
    def _frequencies(self) -> NDArray[np.float64]:
        weights = 1.0 / np.arange(10, VOCABULARY + 10)
        total: NDArray[np.float64] = np.cumsum(weights / weights.sum())
        return total

    def topic_words(self, topic: int) -> NDArray[np.int64]:
        return np.random.default_rng(topic).integers(200, VOCABULARY, 12)

    def make(self, count: int, seed: int) -> tuple[list[str], NDArray[np.float32]]:
        """Texts and their vectors."""
        chance = np.random.default_rng(seed)
        topics = chance.integers(0, TOPICS, count)
        common = np.searchsorted(self._frequencies, chance.random((count, WORDS)))
        texts = []
        for topic, numbers in zip(topics, common, strict=True):
            numbers[::9] = chance.choice(self.topic_words(int(topic)), len(numbers[::9]))
            texts.append(" ".join([self.words[number] for number in numbers]))
        noise = chance.standard_normal((count, DIMENSIONS)).astype(np.float32)
        return texts, _normal(self.centres[topics] + 0.05 * noise)

    def queries(self, count: int, seed: int) -> list[tuple[str, NDArray[np.float32]]]:
        """What somebody might ask: some words of a topic, and a common one."""
        chance = np.random.default_rng(seed)
        found = []
        for topic in chance.integers(0, TOPICS, count):
            own = chance.choice(self.topic_words(int(topic)), 3, replace=False)
            words = [*own, int(np.searchsorted(self._frequencies, chance.random() * 0.3))]
            vector = self.centres[topic] + 0.05 * chance.standard_normal(DIMENSIONS).astype(np.float32)
            found.append((" ".join(self.words[number] for number in words), _normal(vector[None])[0]))
        return found

    def common_queries(self, count: int, seed: int) -> list[str]:
        """Three of the words that are in most texts."""
        chance = np.random.default_rng(seed)
        return [" ".join(self.words[number] for number in chance.choice(100, 3, replace=False)) for _ in range(count)]

    def vector_of_text(self, text: str) -> NDArray[np.float32]:
        """Near the topic that most of its words belong to; always the same for the same text."""
        topics = Counter(topic for word in set(text.split()) for topic in self._topics_of_words.get(word, ()))
        topic = topics.most_common(1)[0][0] if topics else 0
        noise = np.random.default_rng(sum(map(ord, text[:200]))).standard_normal(DIMENSIONS).astype(np.float32)
        vector: NDArray[np.float32] = _normal((self.centres[topic] + 0.05 * noise)[None])[0]
        return vector

    @cached_property
    def _topics_of_words(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for topic in range(TOPICS):
            for number in self.topic_words(topic).tolist():
                found[self.words[number]].append(topic)
        return dict(found)


def lines(texts: Sequence[str], first: int = 0) -> Iterator[str]:
    """The passages as the lines of a file that was exported."""
    yield json.dumps({"format": "detent", "version": 1, "items": len(texts)})
    yield json.dumps({"record": "lifecycle", "definition": PASSAGE.as_data()})
    yield json.dumps({"record": "kind", "source": "bench", "label": "Passage", "lifecycle": "passage"})
    for number, text in enumerate(texts, start=first):
        node = {"title": f"passage {number}", "text": text}
        name = {"source": "bench", "label": "Passage", "key": f"p{number:09}"}
        yield json.dumps({"record": "item", **name, "state": "ready", "node": node})


def hashes(texts: Sequence[str], first: int = 0) -> list[UUID]:
    return [Passage.of(f"passage {number}", text).hash for number, text in enumerate(texts, start=first)]


def _normal(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    normal: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normal


def _word(number: int) -> str:
    letters = ""
    while not letters or number:
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return f"{letters}{'aeiou'[len(letters) % 5]}"

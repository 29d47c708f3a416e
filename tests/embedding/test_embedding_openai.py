"""The provider `openai`, against a service that speaks the protocol over a socket and can be told to misbehave."""

from __future__ import annotations

import base64
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from detent.configuration import EmbeddingSettings
from detent.embedding import Provider, Vectors, open_provider
from detent.embedding.endpoint import Endpoint
from detent.errors import BudgetSpent, EmbeddingFailed, InvalidSetting, MalformedAnswer, ServiceRefused
from detent.knowledge import Retry
from detent.lifecycle import Trouble
from detent.worker.outcomes import outcome_of

KEY = "sk-hunter2"

Handling = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Service:
    """Where it listens, what it was asked, and what it does instead of answering properly."""

    url: str = ""
    dimensions: int = 4
    encoding: str = "base64"
    usage: bool = True
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    instead: Handling | None = None
    changed: Callable[[dict[str, Any]], Any] = lambda answer: answer

    def vector(self, text: str) -> list[float]:
        """A vector that is told apart by its text, and is not of length 1."""
        return [float(len(text)), *(float(ord(text[0]) + number) for number in range(1, self.dimensions))]

    def answer(self, question: dict[str, Any]) -> Any:
        """All vectors, the last one first: the protocol does not promise an order."""
        data = [
            {"object": "embedding", "index": index, "embedding": self.encoded(self.vector(text))}
            for index, text in enumerate(question["input"])
        ]
        answer: dict[str, Any] = {"object": "list", "data": data[::-1], "model": question["model"]}
        if self.usage:
            tokens = sum(len(text.split()) for text in question["input"])
            answer["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
        return self.changed(answer)

    def encoded(self, vector: list[float]) -> object:
        if self.encoding == "float":
            return vector
        return base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    handler.send_response(status)
    for name, value in {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **(headers or {}),
    }.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.asked.append(question)
            service.keys.append(self.headers["Authorization"])
            if self.path != "/v1/embeddings":
                send(self, 404, b"{}")
            elif service.instead:
                service.instead(self)
            else:
                send(self, 200, json.dumps(service.answer(question)).encode())

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  its name in the library
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("SERVICE_KEY", KEY)
    with serving(Service()) as running:
        yield running


@pytest.fixture
def opened(service: Service) -> Iterator[Callable[..., Provider]]:
    """Opens providers for the service, and closes them after the test."""
    providers: list[Provider] = []

    def open_with(**details: Any) -> Provider:
        given = {
            "provider": "openai",
            "base_url": service.url,
            "api_key_env": "SERVICE_KEY",
            "model": "small",
            **details,
        }
        providers.append(open_provider(EmbeddingSettings(**given)))
        return providers[-1]

    yield open_with
    for provider in providers:
        provider.close()


def expected(service: Service, texts: list[str]) -> Vectors:
    vectors = np.array([service.vector(text) for text in texts], dtype=np.float32)
    normal: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normal


def outcome(provider: Provider, texts: list[str]) -> Retry:
    """What a worker makes of the error that these texts lead to."""
    with pytest.raises(EmbeddingFailed) as failed:
        provider.embed(texts)
    assert KEY not in repr(failed.value) + str(failed.value)
    assert failed.value.__cause__ is None, "nothing that holds the request is carried along"
    return outcome_of(failed.value)


# Answers


@pytest.mark.parametrize("encoding", ["base64", "float"])
def test_vectors_come_in_the_order_of_the_texts_and_have_length_1(
    service: Service, opened: Callable[..., Provider], encoding: str
) -> None:
    service.encoding = encoding
    texts = ["one", "three hundred", "twenty"]
    vectors = opened().embed(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(service, texts), rtol=1e-6)
    assert service.asked == [{"model": "small", "input": texts, "encoding_format": "base64"}]
    assert service.keys == [f"Bearer {KEY}"]


def test_an_answer_without_indices_is_taken_as_it_comes(service: Service, opened: Callable[..., Provider]) -> None:
    def without(answer: dict[str, Any]) -> Any:
        return {"data": [{"embedding": each["embedding"]} for each in answer["data"][::-1]]}

    service.changed = without
    np.testing.assert_allclose(opened().embed(["a", "bb"]), expected(service, ["a", "bb"]), rtol=1e-6)


def test_texts_are_divided_by_their_number_and_by_their_tokens(
    service: Service, opened: Callable[..., Provider]
) -> None:
    texts = ["a", "b", "c", "d" * 60, "e" * 60, "f" * 600, "g"]
    vectors = opened(batch_size=2, max_tokens_per_request=30).embed(texts)
    np.testing.assert_allclose(vectors, expected(service, texts), rtol=1e-6)
    assert [question["input"] for question in service.asked] == [
        ["a", "b"],
        ["c", "d" * 60],
        ["e" * 60],
        ["f" * 600],
        ["g"],
    ]


def test_a_text_that_is_too_long_is_cut_and_one_without_words_is_not_sent(
    service: Service, opened: Callable[..., Provider]
) -> None:
    vectors = opened(max_tokens_per_text=16, dimensions=4).embed(["", "é" * 500, " \n"])
    assert service.asked[0]["input"] == ["é" * 22]
    assert not vectors[[0, 2]].any()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1)


def test_no_texts_need_no_request(service: Service, opened: Callable[..., Provider]) -> None:
    assert opened(dimensions=4).embed([]).shape == (0, 4)
    assert service.asked == []


def test_the_dimensions_are_sent_if_they_are_set_and_make_another_model(
    service: Service, opened: Callable[..., Provider]
) -> None:
    service.dimensions = 3
    provider = opened(dimensions=3)
    assert provider.embed_query("a text").shape == (3,)
    assert service.asked[0]["dimensions"] == 3
    assert (provider.name, provider.model, provider.dimensions) == ("openai", "small@3", 3)


def test_the_dimensions_of_a_model_that_nobody_knows_are_asked_for_once(
    service: Service, opened: Callable[..., Provider]
) -> None:
    provider = opened()
    assert (provider.dimensions, provider.dimensions, provider.model) == (4, 4, "small")
    assert len(service.asked) == 1
    assert opened(model=None).dimensions == 1536, "of OpenAI's own, they are known"
    assert len(service.asked) == 1


def test_many_threads_may_ask_at_the_same_time(service: Service, opened: Callable[..., Provider]) -> None:
    provider = opened()
    texts = [f"{'x' * number} {number}" for number in range(1, 41)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: provider.embed([text])[0], texts))
    np.testing.assert_allclose(np.stack(found), expected(service, texts), rtol=1e-6)


# Trouble


def refusing(status: int, body: bytes = b"{}", **headers: str) -> Handling:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: send(handler, status, body, named)


def test_a_limit_is_waited_out_as_long_as_the_service_asks(service: Service, opened: Callable[..., Provider]) -> None:
    service.instead = refusing(429, b'{"error": {"message": "Slow down."}}', Retry_After="17")
    found = outcome(opened(), ["a text"])
    assert (found.trouble, found.retry_after) == (Trouble.RATE_LIMITED, 17.0)
    assert f"The embedding service {service.url} refused: 429 Too Many Requests: Slow down" in found.reason
    later = datetime.now(UTC) + timedelta(seconds=90)
    service.instead = refusing(429, Retry_After=format_datetime(later, usegmt=True))
    assert outcome(opened(), ["a text"]).retry_after == pytest.approx(90, abs=30)
    assert len(service.asked) == 2, "nothing is tried again in here"


def test_what_was_answered_before_a_refusal_is_not_asked_again(
    service: Service, opened: Callable[..., Provider]
) -> None:
    def two_answers(answer: dict[str, Any]) -> Any:
        if len(service.asked) == 2:
            service.instead = refusing(429)
        return answer

    service.changed = two_answers
    provider, texts = opened(batch_size=2), ["a", "b", "c", "d", "e", "a"]
    outcome(provider, texts)
    service.instead = None
    np.testing.assert_allclose(provider.embed(texts), expected(service, texts), rtol=1e-6)
    assert [question["input"] for question in service.asked] == [["a", "b"], ["c", "d"], ["e"], ["e"]]
    provider.embed(["a"])
    assert service.asked[-1]["input"] == ["a"], "it is kept for one try"


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (400, Trouble.REJECTED),
        (401, Trouble.FORBIDDEN),
        (404, Trouble.NOT_FOUND),
        (413, Trouble.REJECTED),
        (500, Trouble.SERVER),
        (503, Trouble.SERVER),
    ],
)
def test_a_refusal_is_classified_by_its_status(
    service: Service, opened: Callable[..., Provider], status: int, trouble: Trouble
) -> None:
    service.instead = refusing(status, b"<html>")
    assert outcome(opened(), ["a text"]).trouble is trouble


def test_a_service_that_repeats_the_key_does_not_bring_it_into_an_error(
    service: Service, opened: Callable[..., Provider], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    service.instead = refusing(401, json.dumps({"error": {"message": f"Wrong key: {KEY}." + "x" * 999}}).encode())
    found = outcome(opened(), ["a text"])
    assert "401 Unauthorized: Wrong key: ***" in found.reason
    assert len(found.reason) < 500
    assert KEY not in caplog.text


def test_a_service_that_is_not_there_is_a_matter_of_the_network(opened: Callable[..., Provider]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = outcome(opened(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1"), ["a text"])
    assert found.trouble is Trouble.NETWORK
    assert "cannot be reached" in found.reason


def test_a_connection_that_is_cut_is_a_matter_of_the_network(service: Service, opened: Callable[..., Provider]) -> None:
    def cut_before(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    def cut_within(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"data": [')
        handler.close_connection = True

    for cut in (cut_before, cut_within):
        service.instead = cut
        assert outcome(opened(), ["a text"]).trouble is Trouble.NETWORK


def test_a_service_that_does_not_answer_in_time_is_given_up(service: Service) -> None:
    asked_to_end = threading.Event()

    def wait(handler: BaseHTTPRequestHandler) -> None:
        asked_to_end.wait(30)
        handler.close_connection = True

    service.instead = wait
    endpoint = Endpoint(EmbeddingSettings(base_url=service.url, api_key_env=""), timeout_seconds=0.1)
    try:
        with pytest.raises(EmbeddingFailed) as failed:
            endpoint.ask({"input": ["a text"]})
    finally:
        asked_to_end.set()
        endpoint.close()
    assert outcome_of(failed.value).trouble is Trouble.TIMEOUT
    assert str(failed.value) == f"The embedding service {service.url} did not answer within 0.1 seconds."


def changed(**entries: Any) -> Callable[[dict[str, Any]], Any]:
    """An answer in which the last vector has other entries."""
    return lambda answer: {**answer, "data": [*answer["data"][:-1], {**answer["data"][-1], **entries}]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda answer: [], "it has no list of vectors"),
        (lambda answer: {"data": None}, "it has no list of vectors"),
        (lambda answer: {"data": answer["data"][1:]}, "it has 1 vectors for 2 texts"),
        (lambda answer: {"data": answer["data"] * 2}, "it has 4 vectors for 2 texts"),
        (changed(index=1), "it does not say which vector belongs to which text"),
        (changed(index=None), "it does not say which vector belongs to which text"),
        (changed(embedding=[1, 2, 3]), "a vector has 3 numbers where 4 are expected"),
        (changed(embedding=[]), "a vector has 0 numbers where 4 are expected"),
        (changed(embedding=[1, 2, 3, float("nan")]), "a vector has something in it that is no number"),
        (changed(embedding=[1, 2, 3, "x"]), "a vector is neither a list of numbers nor base64"),
        (changed(embedding=[[1], [2]]), "a vector is neither a list of numbers nor base64"),
        (changed(embedding="AAAA!"), "a vector is neither a list of numbers nor base64"),
        (changed(embedding="AAAA"), "a vector is neither a list of numbers nor base64"),
        (changed(embedding=None), "a vector is neither a list of numbers nor base64"),
    ],
)
def test_an_answer_that_is_not_one_vector_for_each_text_is_refused(
    service: Service, opened: Callable[..., Provider], change: Callable[[dict[str, Any]], Any], reason: str
) -> None:
    service.changed = change
    found = outcome(opened(dimensions=4), ["a text", "b text"])
    assert found.trouble is Trouble.MALFORMED
    assert f"gave an answer that cannot be used: {reason}" in found.reason


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"data": ', b"\xff\xfe{", b"[" * 100_000])
def test_an_answer_that_is_not_json_is_refused(service: Service, opened: Callable[..., Provider], body: bytes) -> None:
    service.instead = refusing(200, body)
    found = outcome(opened(), ["a text"])
    assert found.trouble is Trouble.MALFORMED
    assert "it is not JSON" in found.reason


def test_an_answer_that_leads_elsewhere_is_not_followed(service: Service, opened: Callable[..., Provider]) -> None:
    service.instead = refusing(302, Location="http://elsewhere.example/")
    with pytest.raises(MalformedAnswer, match=r"its status is 302 Found; is base_url right\?"):
        opened().embed(["a text"])


# The key


def test_a_key_that_is_not_there_is_missed_when_the_provider_is_opened(
    opened: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERVICE_KEY")
    with pytest.raises(InvalidSetting) as refused:
        opened()
    assert str(refused.value) == (
        "The environment variable SERVICE_KEY, which embedding.api_key_env names, is not set. "
        'Set it to the key, or write api_key_env = "" in [embedding] for a service that needs none.'
    )


def test_a_key_that_no_header_can_hold_is_refused_without_being_repeated(
    opened: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_KEY", "hunter2\nhunter3")
    with pytest.raises(InvalidSetting) as refused:
        opened()
    assert "hunter" not in str(refused.value)


def test_a_service_that_needs_no_key_is_sent_none(service: Service, opened: Callable[..., Provider]) -> None:
    opened(api_key_env="").embed(["a text"])
    assert service.keys == [None]


def test_a_password_in_the_address_is_sent_and_not_told(
    service: Service, opened: Callable[..., Provider], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider = opened(base_url=service.url.replace("//", "//me:hunter3@"), api_key_env="")
    provider.embed(["a text"])
    assert service.keys == ["Basic bWU6aHVudGVyMw=="]
    service.instead = refusing(503, b"me:hunter3 is busy")
    assert "hunter3" not in outcome(provider, ["a text"]).reason + caplog.text


@pytest.mark.parametrize("address", ["", "service", "ftp://service", "http://[::1", "http://me:hunter3"])
def test_an_address_that_is_none_is_refused_when_the_provider_is_opened(
    opened: Callable[..., Provider], address: str
) -> None:
    with pytest.raises(InvalidSetting, match=r"embedding\.base_url") as refused:
        opened(base_url=address)
    assert "hunter3" not in str(refused.value)


# The budget


def test_what_the_service_counts_is_spent(service: Service, opened: Callable[..., Provider]) -> None:
    provider = opened()
    provider.embed(["two words", "and three more"])
    assert provider.budget is not None
    assert provider.budget.spent == 5
    service.usage = False
    provider.embed(["12345678"])
    assert provider.budget.spent == 5 + 3, "where it says nothing, what was estimated"


def test_a_refusal_costs_nothing_and_an_answer_that_was_lost_may_have_cost(
    service: Service, opened: Callable[..., Provider]
) -> None:
    provider = opened()
    assert provider.budget is not None
    service.instead = refusing(500)
    with pytest.raises(ServiceRefused):
        provider.embed(["12345678"])
    assert provider.budget.spent == 0
    service.instead = refusing(200, b"<html>")
    with pytest.raises(MalformedAnswer):
        provider.embed(["12345678"])
    assert provider.budget.spent == 3


def test_when_the_budget_is_spent_nothing_more_is_sent(service: Service, opened: Callable[..., Provider]) -> None:
    provider = opened(token_budget=10)
    provider.embed(["six words are in this text"[:20]])
    with pytest.raises(BudgetSpent) as refused:
        provider.embed(["another text of more words"])
    assert len(service.asked) == 1
    assert outcome_of(refused.value).trouble is Trouble.REJECTED, "which is not tried again"
    assert str(refused.value) == (
        "The budget for embedding is spent: 5 of 10 tokens, and the next request would exceed it. "
        "Raise `token_budget` in [embedding] of detent.toml, then run `detent retry --all`."
    )


def test_what_was_spent_elsewhere_counts_too(service: Service, opened: Callable[..., Provider]) -> None:
    provider = opened(token_budget=1000)
    assert provider.budget is not None
    provider.budget.elsewhere = lambda: 990
    with pytest.raises(BudgetSpent):
        provider.embed(["a text that is estimated at more than ten tokens"])
    assert service.asked == []

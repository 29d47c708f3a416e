"""How texts are divided into requests. Tokens are estimated: nobody knows every service's tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BYTES_PER_TOKEN = 3
"""English has about four bytes of UTF-8 to a token, code and Chinese about three: rather too many than too few."""


def estimated_tokens(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN + 1


def shortened(text: str, max_tokens: int) -> str:
    """The beginning of the text that has at most so many tokens, never ending within a character."""
    if len(text) * 4 <= max_tokens * BYTES_PER_TOKEN:
        return text
    return text.encode()[: (max_tokens - 1) * BYTES_PER_TOKEN].decode(errors="ignore")


def requests(texts: Sequence[str], max_texts: int, max_tokens: int) -> Iterator[list[str]]:
    """The texts in their order, as many at a time as one request may hold; one that is over the limit goes alone."""
    together: list[str] = []
    tokens = 0
    for text in texts:
        more = estimated_tokens(text)
        if together and (len(together) == max_texts or tokens + more > max_tokens):
            yield together
            together, tokens = [], 0
        together.append(text)
        tokens += more
    if together:
        yield together

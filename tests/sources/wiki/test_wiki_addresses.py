"""The address of a page, where a title is wanted."""

from __future__ import annotations

import pytest

from detent.sources.wiki.addresses import is_address, is_of, title_at


@pytest.mark.parametrize(
    ("address", "title"),
    [
        ("https://en.wikipedia.org/wiki/Owl", "Owl"),
        ("https://en.wikipedia.org/wiki/AC/DC", "AC/DC"),
        ("https://en.wikipedia.org/wiki/Caf%C3%A9_au_lait#Milk", "Caf\u00e9_au_lait"),
        ("https://en.wikipedia.org/w/index.php?title=Barn_owl&oldid=5", "Barn_owl"),
        ("http://wiki.example/index.php/Owl", "Owl"),
        ("http://wiki.example/wiki/index.php/Owl", "Owl"),
        ("https://en.wikipedia.org/", None),
        ("https://en.wikipedia.org/wiki/", None),
        ("http://[", None),
    ],
)
def test_the_title_is_taken_from_the_address_of_a_page(address: str, title: str | None) -> None:
    assert is_address(address)
    assert title_at(address) == title


@pytest.mark.parametrize("title", ["Owl", "HTTP", "Http: a story", "de:Eule", ""])
def test_a_title_is_no_address(title: str) -> None:
    assert not is_address(title)


@pytest.mark.parametrize(
    ("address", "host", "same"),
    [
        ("https://en.wikipedia.org/wiki/Owl", "en.wikipedia.org", True),
        ("http://EN.wikipedia.org:80/wiki/Owl", "en.wikipedia.org", True),
        ("https://en.m.wikipedia.org/wiki/Owl", "en.wikipedia.org", True),
        ("https://de.wikipedia.org/wiki/Eule", "en.wikipedia.org", False),
        ("http://127.0.0.1:8080/wiki/Owl", "127.0.0.1:8080", True),
        ("http://127.0.0.1:8081/wiki/Owl", "127.0.0.1:8080", False),
        ("http://[", "127.0.0.1:8080", False),
    ],
)
def test_the_wiki_of_an_address_is_told_by_its_host(address: str, host: str, same: bool) -> None:
    assert is_of(address, host) is same

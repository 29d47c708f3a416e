"""The address of a page, where a title is wanted, and the other way round."""

from __future__ import annotations

import pytest

from detent.wikitext.addresses import address_of, is_address, is_of, pattern, title_at


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


@pytest.mark.parametrize(
    ("told", "written"),
    [
        (("https://owl.example/wiki/Main_Page",), "https://owl.example/wiki/$1"),
        (("https://owl.example/w/index.php?title=Main_Page",), "https://owl.example/w/index.php?title=$1"),
        (("https://owl.example/w/index.php/Main_Page",), "https://owl.example/w/index.php/$1"),
        (("https://owl.example/Main_Page",), "https://owl.example/$1"),
        (("https://owl.example/wiki/Portal/Main",), "https://owl.example/wiki/$1"),
        (("https://owl.example/title/Main_page",), "https://owl.example/title/$1"),
        (("https://owl.example/w/Main", "", "/wiki/$1"), "https://owl.example/wiki/$1"),
        (("", "//owl.example", "/wiki/$1"), ""),
        (("owl/Main",), ""),
        (("no address",), ""),
        (("https://owl.example/",), ""),
        (("",), ""),
        (("https://owl.example/", "https://owl.example", "/wiki/$1"), "https://owl.example/wiki/$1"),
        (("https://owl.example/", "//owl.example", "/wiki/$1"), "https://owl.example/wiki/$1"),
        (("http://owl.example:8080/x", "http://owl.example:8080", "/$1"), "http://owl.example:8080/$1"),
    ],
)
def test_the_pattern_of_addresses_is_what_the_wiki_tells_or_that_of_its_main_page(
    told: tuple[str, ...], written: str
) -> None:
    assert pattern(*told) == written


@pytest.mark.parametrize(
    ("title", "address"),
    [
        ("Owl", "https://owl.example/wiki/Owl"),
        ("Barn owl (bird)/Food", "https://owl.example/wiki/Barn_owl_(bird)/Food"),
        ("AT&T: 100%?", "https://owl.example/wiki/AT%26T:_100%25%3F"),
        ("C++", "https://owl.example/wiki/C%2B%2B"),
        ("Größe", "https://owl.example/wiki/Gr%C3%B6%C3%9Fe"),
        ("$1", "https://owl.example/wiki/$1"),
    ],
)
def test_a_page_has_the_address_that_the_wiki_gives_it(title: str, address: str) -> None:
    assert address_of(title, "https://owl.example/wiki/$1") == address
    assert (title_at(address) or "").replace("_", " ") == title


def test_a_title_is_taken_from_an_address_as_the_wiki_writes_them() -> None:
    assert title_at("https://owl.example/title/Barn_owl", "https://owl.example/title/$1") == "Barn_owl"
    assert title_at("https://owl.example/Barn_owl", "https://owl.example/$1") == "Barn_owl"
    assert title_at("https://owl.example/w/index.php?title=Owl", "https://owl.example/w/index.php?title=$1") == "Owl"
    assert title_at("https://owl.example/title/Barn_owl") is None

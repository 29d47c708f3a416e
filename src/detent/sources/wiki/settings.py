"""The settings of a wiki source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

from detent.configuration.masking import masked

DEPTH = 2
MAX_LINKS = 200
PASSAGE_SIZE = 2000

WIKIPEDIA = "https://{language}.wikipedia.org/w/api.php"
ENGLISH_WIKIPEDIA = WIKIPEDIA.format(language="en")
_WIKIMEDIA = (
    *("wikipedia.org", "wikimedia.org", "wiktionary.org", "wikibooks.org", "wikinews.org", "wikiquote.org"),
    *("wikisource.org", "wikiversity.org", "wikivoyage.org", "wikidata.org", "mediawiki.org"),
)
_WIKIMEDIA_PER_MINUTE = 200.0
_USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class WikiSettings:
    """A wiki, reached by its API or in a dump, the articles to begin with, and how far to go from there. Without seeds,
    all of a dump is taken. `contact` stands in the User-Agent; `language` is that of the texts, None for what the
    database has. `cache` is a folder for files. `password` is that of the user in `api`, and is kept apart.
    """

    api: str | None = field(default=None, repr=False)
    dump: Path | None = None
    index: Path | None = None
    cache: Path | None = None
    seeds: tuple[str, ...] = ()
    depth: int = DEPTH
    target: int | None = None
    max_links: int = MAX_LINKS
    contact: str | None = None
    per_minute: float | None = None
    passage_size: int = PASSAGE_SIZE
    language: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Settings as they are kept."""
        known: dict[str, Any] = {each.name: settings[each.name] for each in fields(cls) if each.name in settings}
        for name in ("dump", "index", "cache"):
            known[name] = Path(known[name]) if known.get(name) else None
        return cls(**{**known, "seeds": tuple(known.get("seeds", ()))})

    def as_data(self) -> dict[str, Any]:
        """The settings as they are kept, without the password."""
        written: dict[str, Any] = asdict(self)
        del written["password"]
        paths = {name: str(written[name]) for name in ("dump", "index", "cache") if written[name] is not None}
        return {**written, **paths, "seeds": list(self.seeds)}

    @property
    def address(self) -> str | None:
        """The address of the API, safe to display."""
        return masked(self.api) if self.api else None

    @property
    def asked(self) -> str:
        """The address for requests, with the user's password."""
        place = urlsplit(self.api or "")
        user, at, host = place.netloc.rpartition("@")
        if not (self.password and at):
            return self.api or ""
        return place._replace(netloc=f"{user}:{quote(self.password, safe='')}@{host}").geturl()

    @property
    def host(self) -> str:
        return urlsplit(self.api or "").hostname or ""

    @property
    def service(self) -> str:
        """The name of the service that has its own rate limit: the host, with any unusual port."""
        place = urlsplit(self.api or "")
        usual = place.port in (None, _USUAL_PORTS.get(place.scheme))
        return self.host if usual else f"{self.host}:{place.port}"

    @property
    def requests_per_minute(self) -> float | None:
        """The request limit of the wiki: the given one, or else its usual one; None for no limit."""
        return self.per_minute or (_WIKIMEDIA_PER_MINUTE if is_wikimedia(self.host) else None)


def without_password(api: str) -> tuple[str, str | None]:
    """Split an address into the stored one, without a password, and the password, if it had one."""
    place = urlsplit(api)
    user, at, host = place.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    if not (at and colon):
        return api, None
    return place._replace(netloc=f"{name}@{host}").geturl(), unquote(password)


def is_same_wiki(one: str, other: str) -> bool:
    """Tell whether two addresses belong to one API, with any user."""
    places = [urlsplit(each)._replace(netloc=urlsplit(each).netloc.rpartition("@")[2]) for each in (one, other)]
    return places[0] == places[1]


def is_wikimedia(host: str) -> bool:
    """Tell whether this is a wiki of the Wikimedia Foundation, which requires a contact."""
    return any(host == each or host.endswith(f".{each}") for each in _WIKIMEDIA)

"""Documents: from the targets of links and images to the files, sections and addresses that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from urllib.parse import SplitResult, unquote, urlsplit

from detent.documents.formats import format_of
from detent.documents.keys import anchor
from detent.documents.parsed import Link, Parsed, Part
from detent.sources.files.linking.gathering import DOCUMENTS, LINKS_TO, Gathered
from detent.sources.files.linking.languages import python
from detent.sources.files.linking.paths import folder_of, joined, stem_of
from detent.sources.files.linking.roots import Root, Roots, under

_ENDINGS = {"markdown": (".md",), "restructuredtext": (".rst", ".md"), "html": (".html",)}
"""The endings that documents of a kind leave out when they name each other."""

KINDS = frozenset({"markdown", "restructured", "html"})
"""The kinds of files whose links depend on which modules there are."""

_SECTIONS = {"markdown": "MarkdownSection", "restructured": "Section", "html": "Section"}
"""The labels of the sections to which an anchor may lead, by the kind of file."""

_MOST_CODE_FILES = 3
"""Files of code that a section may link to, and still say where the names in it are defined."""

_LONGEST_ANCHOR = 200
_MOST_NAMES = 6


def root(roots: Roots, path: str) -> Root:
    """Its `places` are the Python modules at the root and in its `src`, as documents call them."""
    top = python.top_of(roots, path)
    return roots.root(("documents", top), lambda: Root(top, "", python.modules(roots, [top, under(top, "src")])))


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> None:
    """Follow the links of a document."""
    anchors = _anchors(parsed.parts)
    code: dict[str, list[str]] = {}
    for each in parsed.links:
        target = _split(each.target)
        if target is None or each.kind == "code":
            continue
        if target.scheme or target.netloc:
            _address(gathered, each.part, target)
            continue
        path = _path(gathered.path, target)
        if path == gathered.path:
            if target.fragment and (part := anchors.get(anchor(unquote(target.fragment)))):
                gathered.section(each.part, part.label, part.key, gathered.path)
        elif path is not None:
            _place(gathered, each, target, path, _ENDINGS.get(parsed.kind, ()))
            if format_of(path).name == "code" and path not in (files := code.setdefault(each.part, [])):
                files.append(path)
    _document(gathered, parsed.links, code)
    if parsed.kind in _ENDINGS:
        _document_full_names(gathered, parsed.links, roots)
        _tell_anchors(gathered, parsed.parts, anchors)


def _split(target: str) -> SplitResult | None:
    try:
        return urlsplit(target.strip())
    except ValueError:
        return None


def _address(gathered: Gathered, part: str, target: SplitResult) -> None:
    """An address on the web, without the fragment and without the name and password of a user; or one of mail."""
    if target.scheme == "mailto":
        if "@" in target.path:
            gathered.address(part, f"mailto:{target.path}")
    elif target.scheme in {"http", "https"}:
        host = target.netloc.rpartition("@")[2].lower()
        if host.split() == [host]:
            asked = f"?{target.query}" if target.query else ""
            gathered.address(part, f"{target.scheme}://{host}{target.path}{asked}")


def _path(own: str, target: SplitResult) -> str | None:
    """The path of the file that a link names, "" for the root; None if that is out of the root. What begins with "/" is
    meant from the root of the source."""
    if not target.path:
        return own
    written = unquote(target.path, errors="backslashreplace")
    return joined("" if written.startswith("/") else folder_of(own), written)


def _place(gathered: Gathered, each: Link, target: SplitResult, path: str, endings: Sequence[str]) -> None:
    """Refer to a file, and to the section that the anchor names; to a folder, where the target is written as one; to
    both, where it has no ending."""
    is_folder = not path or target.path.rpartition("/")[2] in {"", ".", ".."}
    if not is_folder:
        has_ending = "." in path.rpartition("/")[2].lstrip(".")
        written = unquote(target.fragment)[:_LONGEST_ANCHOR]
        for ending in ("",) if has_ending or each.kind == "image" else ("", *endings):
            file = f"{path}{ending}"
            gathered.file(each.part, LINKS_TO, file, {"anchor": written} if written else {})
            if written and (label := _SECTIONS.get(format_of(file).name)):
                gathered.section(each.part, label, anchor(written), file)
        is_folder = not has_ending and each.kind == "link"
    if is_folder:
        gathered.directory(each.part, LINKS_TO, path)


def _anchors(parts: Sequence[Part]) -> dict[str, Part]:
    """The sections of a document by what links to them say: the anchor that is written there, or the heading. Headings
    that are there already are numbered."""
    found: dict[str, Part] = {}
    for part in parts:
        if isinstance(written := part.properties.get("anchor"), str) and written:
            found.setdefault(anchor(written), part)
    times: dict[str, int] = {}
    for part in parts:
        heading = anchor(part.title)
        number = times[heading] = times.get(heading, -1) + 1
        found.setdefault(f"{heading}-{number}" if number else heading, part)
    return found


def _tell_anchors(gathered: Gathered, parts: Sequence[Part], anchors: Mapping[str, Part]) -> None:
    """Say by which anchors other documents mean a section, where these are not its key."""
    keys = {part.key for part in parts}
    for name, part in anchors.items():
        if name not in keys:
            gathered.section_alias(part.label, name, part.key)


def _document(gathered: Gathered, links: Sequence[Link], code: Mapping[str, Sequence[str]]) -> None:
    """Say which scopes a section is about: the names in code style, where it links to the file that has them."""
    for each in links:
        files = code.get(each.part, ())
        if each.kind == "code" and len(files) <= _MOST_CODE_FILES:
            for file in files:
                for name in _meant(each.target, file):
                    gathered.scope(each.part, DOCUMENTS, file, name)


def _document_full_names(gathered: Gathered, links: Sequence[Link], roots: Roots) -> None:
    """Say which scopes a section is about that it calls by their full names: `shop.cart.Cart.add` is `Cart.add` in
    shop/cart.py. Where the module ends and the scope begins is not known, but that modules are written small."""
    for each in links:
        names = each.target.split(".") if each.kind == "code" else []
        folders = root(roots, gathered.path).places.get(names[0], ()) if len(names) > 1 else ()
        modules = len(list(takewhile(lambda name: name == name.lower(), names[:-1])))
        for folder in folders if len(names) <= _MOST_NAMES else ():
            for length in range(1, modules + 1):
                module = "/".join([*([folder] if folder else []), *names[:length]])
                gathered.scope(each.part, DOCUMENTS, f"{module}.py", ".".join(names[length:]))


def _meant(written: str, file: str) -> Iterator[str]:
    """A name as a file knows it: `client.connect` is `connect` in client.py."""
    name = written.replace("::", ".")
    if name and "" not in name.split("."):
        yield name
        module, _, rest = name.partition(".")
        if rest and module == stem_of(file):
            yield rest

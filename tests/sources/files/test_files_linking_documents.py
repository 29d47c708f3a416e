"""What documents refer to: files, folders, sections, addresses, and the scopes that they describe."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent.documents.formats import parse
from detent.sources.files.folder import Folder
from detent.sources.files.linking import Linked, Roots, links
from detent.sources.files.settings import FolderSettings


def linked(root: Path, path: str, text: str) -> Linked:
    return links(path, parse(text.encode(), path), Roots(Folder(FolderSettings(root))))


def targets(found: Linked, part: str = "") -> list[tuple[str, str]]:
    return [(each.label, each.key) for each in found.references.get(part, ()) if each.type == "LINKS_TO"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("../src/a.py", [("File", "src/a.py")]),
        ("./b.md", [("File", "docs/b.md")]),
        ("a%20b.md?plain=1", [("File", "docs/a b.md")]),
        ("/top.md", [("File", "top.md")]),
        ("img/x.PNG", [("ImageFile", "docs/img/x.PNG")]),
        ("%FF.txt", [("File", "docs/\\xff.txt")]),
        ("sub/", [("Directory", "docs/sub")]),
        ("..", [("Directory", ".")]),
        (".", [("Directory", "docs")]),
        ("guide", [("File", "docs/guide"), ("File", "docs/guide.md"), ("Directory", "docs/guide")]),
        (".github", [("File", "docs/.github"), ("File", "docs/.github.md"), ("Directory", "docs/.github")]),
        ("../../out.md", []),
        ("//host/x.md", []),
        ("ftp://host/x.md", []),
        ("http://[bad", []),
        ("a%00b.md", []),
    ],
)
def test_a_link_leads_to_the_file_or_folder_it_names(
    tmp_path: Path, written: str, expected: list[tuple[str, str]]
) -> None:
    assert targets(linked(tmp_path, "docs/a.md", f"[x](<{written}>)\n")) == expected


def test_a_picture_is_an_image_file(tmp_path: Path) -> None:
    assert targets(linked(tmp_path, "a.md", "![x](p/logo.svg)\n")) == [("ImageFile", "p/logo.svg")]


def test_an_anchor_in_another_file_is_a_property_and_may_be_a_section(tmp_path: Path) -> None:
    found = linked(tmp_path, "a.md", "[x](b.md#some%20part)\n")
    assert targets(found) == [("File", "b.md"), ("MarkdownSection", "b.md#some-part")]
    assert [each.properties for each in found.references[""]] == [{"anchor": "some part"}, {}]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("b.html#Part", [("File", "b.html"), ("Section", "b.html#part")]),
        ("b.rst#part", [("File", "b.rst"), ("Section", "b.rst#part")]),
        ("b.py#L10", [("File", "b.py")]),
        ("x.png#a", [("ImageFile", "x.png")]),
        ("b.md#", [("File", "b.md")]),
        (
            "b#part",
            [("File", "b"), ("File", "b.md"), ("MarkdownSection", "b.md#part"), ("Directory", "b")],
        ),
    ],
)
def test_only_documents_have_sections_that_are_linked_to(
    tmp_path: Path, written: str, expected: list[tuple[str, str]]
) -> None:
    assert targets(linked(tmp_path, "a.md", f"[x]({written})\n")) == expected


@pytest.mark.parametrize("text", ["# Getting started!\n", "# A\n## B\n### Getting started\n", "## Getting started\n"])
def test_an_anchor_is_the_key_of_a_section(tmp_path: Path, text: str) -> None:
    [_, section] = targets(linked(tmp_path, "a.md", "[x](b.md#getting-started)\n"))
    assert section[1] in {f"b.md#{part.key}" for part in parse(text.encode(), "b.md").parts}


def test_of_sections_with_the_same_heading_all_but_the_first_are_known_by_their_number(tmp_path: Path) -> None:
    text = "# Top\n## Linux\n### Install\n## Windows\n### Install\n## Install\n## Again\n"
    assert {(each.label, each.key, each.of) for each in linked(tmp_path, "a.md", text).aliases} == {
        ("MarkdownSection", "a.md#install-1", "a.md#windows/install"),
        ("MarkdownSection", "a.md#install-2", "a.md#top/install"),
    }


def test_a_number_does_not_take_the_anchor_of_another_heading(tmp_path: Path) -> None:
    assert linked(tmp_path, "a.md", "# Step 1\n# Step\n# Step\n").aliases == ()


def test_an_anchor_in_the_same_file_leads_to_the_section(tmp_path: Path) -> None:
    text = "# Top\n[x](#first--last) [y](a.md#again-1) [z](#nowhere)\n## First & last\n## Again\n## Again\n"
    assert targets(linked(tmp_path, "a.md", text), "top") == [
        ("MarkdownSection", "a.md#first-last"),
        ("MarkdownSection", "a.md#top/again"),
    ]


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("options.foo", "optionsfoo"),
        ("What's new?", "whats-new"),
        ("[1.2.3] - 2020-01-31", "123---2020-01-31"),
        ("[1.2.3] - 2020-01-31", "123-2020-01-31"),
        ("Über uns", "%C3%BCber-uns"),
    ],
)
def test_anchors_are_understood_as_on_github_and_by_mkdocs(tmp_path: Path, title: str, written: str) -> None:
    [key] = [part.key for part in parse(f"## {title}\n".encode(), "a.md").parts]
    here = targets(linked(tmp_path, "a.md", f"[x](#{written})\n\n## {title}\n"))
    there = targets(linked(tmp_path, "b.md", f"[x](a.md#{written})\n"))
    assert here == there[1:] == [("MarkdownSection", f"a.md#{key}")]


def test_an_anchor_that_is_written_at_a_heading_counts_before_headings(tmp_path: Path) -> None:
    text = '<p><a href="#two">x</a></p><h1>Two</h1><h1 id="two">Other</h1>'
    assert targets(linked(tmp_path, "a.html", text)) == [("Section", "a.html#other")]


def test_documents_in_restructured_text_are_named_without_their_ending(tmp_path: Path) -> None:
    found = targets(linked(tmp_path, "docs/a.rst", "See :doc:`other`.\n"))
    assert ("File", "docs/other.rst") in found


def test_a_section_does_not_refer_to_itself(tmp_path: Path) -> None:
    assert targets(linked(tmp_path, "a.md", "# Top\n[x](#top) [y](a.md)\n"), "top") == []


def test_addresses_are_mentioned_once_without_fragment_and_user(tmp_path: Path) -> None:
    one = "# One\n[a](https://me:secret@Ex.org:80/p?q#f)\n"
    two = "# Two\n[b](https://ex.org:80/p?q) [c](mailto:a@ex.org?subject=x)\n"
    found = linked(tmp_path, "a.md", one + two)
    assert targets(found, "one") == [("Address", "https://ex.org:80/p?q")]
    assert targets(found, "two") == [("Address", "https://ex.org:80/p?q"), ("Address", "mailto:a@ex.org")]
    assert [(each.key, each.node.title) for each in found.mentions] == [
        ("https://ex.org:80/p?q", ""),
        ("mailto:a@ex.org", ""),
    ]


def test_a_target_is_told_once_for_each_part(tmp_path: Path) -> None:
    assert targets(linked(tmp_path, "a.md", "[a](b.md) [b](b.md?x)\n")) == [("File", "b.md")]


def test_a_section_documents_what_it_calls_by_its_full_name(tmp_path: Path) -> None:
    (tmp_path / "src/shop").mkdir(parents=True)
    (tmp_path / "src/shop/__init__.py").touch()
    found = linked(tmp_path, "docs/a.md", "`shop.cart.Cart.add()` and `shop.open`, but not `os.path.join`, `shop`\n")
    documented = [each.key for each in found.references[""] if each.type == "DOCUMENTS"]
    assert documented == ["src/shop.py#cart.Cart.add", "src/shop/cart.py#Cart.add", "src/shop.py#open"]


def test_a_section_documents_what_it_names_if_it_links_to_the_file(tmp_path: Path) -> None:
    text = "# One\n`Client.open` and `client.close()` of [it](../src/client.py)\n# Two\n`Client.open`\n"
    found = linked(tmp_path, "docs/a.md", text)
    documented = [each.key for each in found.references["one"] if each.type == "DOCUMENTS"]
    assert documented == ["src/client.py#Client.open", "src/client.py#client.close", "src/client.py#close"]
    assert "two" not in found.references

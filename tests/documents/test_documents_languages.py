"""Languages: each is a folder and a line, as Kotlin is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent.documents.code import languages
from detent.documents.code.languages import FOLDERS, by_ending, by_name
from detent.documents.formats import PLAIN, format_of, parse
from detent.documents.parsed import Import, Parsed
from detent.sources.files.folder import Folder
from detent.sources.files.linking import Roots, fingerprint, links
from detent.sources.files.settings import FolderSettings

KOTLIN = """\
/* Carts of a shop. */

package shop.cart

import shop.money.Price
import shop.stock.*
import java.util.UUID as Id

/** A cart of one owner. */
class Cart(val owner: String) : Basket(owner) {
    // Adds an item.
    fun add(item: Item): Boolean {
        val total = priced(item)
        return accepted(total) && this.accepted(total)
    }

    fun accepted(price: Price) = price.total() > 0
}

open class Basket(val owner: String) {
    val id = Id.randomUUID()
}

fun priced(item: Item): Price {
    return Price(item)
}
"""


@pytest.fixture
def kotlin(monkeypatch: pytest.MonkeyPatch) -> Parsed:
    """A file of Kotlin, parsed with the folder of that language and its one line."""
    monkeypatch.setitem(FOLDERS, "kt", "tests.documents.kotlin")
    return parse(KOTLIN.encode(), "shop/cart.kt")


def test_a_file_of_a_language_that_is_not_known_is_plain_text() -> None:
    assert format_of("shop/cart.kt") is PLAIN


def test_a_folder_and_a_line_are_all_that_a_language_takes_to_be_parsed(kotlin: Parsed) -> None:
    assert (kotlin.kind, kotlin.problems) == ("kotlin", [])
    assert kotlin.properties["docstring"] == "Carts of a shop."
    assert [(part.title, part.properties["kind"], part.first, part.last) for part in kotlin.parts] == [
        ("Cart", "class", 9, 18),
        ("Cart.add", "method", 11, 15),
        ("Cart.accepted", "method", 17, 17),
        ("Basket", "class", 20, 22),
        ("priced", "function", 24, 26),
    ]
    assert kotlin.parts[0].properties["docstring"] == "A cart of one owner."
    assert kotlin.parts[1].properties["docstring"] == "Adds an item."
    assert kotlin.parts[1].properties["signature"] == "fun add(item: Item): Boolean"
    assert kotlin.imports == [
        Import("shop.money", "Price", "Price", 5),
        Import("shop.stock", "*", "", 6),
        Import("java.util", "UUID", "Id", 7),
    ]
    assert {(use.kind, use.name, use.part) for use in kotlin.uses} >= {
        ("call", "Price", "priced"),
        ("call", "Id.randomUUID", "Basket"),
    }


def test_the_scopes_of_one_file_are_linked_without_a_word_about_folders(kotlin: Parsed, tmp_path: Path) -> None:
    roots = Roots(Folder(FolderSettings(tmp_path)))
    found = links("shop/cart.kt", kotlin, roots).references
    told = {(part, each.key, each.properties["kind"]) for part, references in found.items() for each in references}
    assert told == {
        ("Cart", "shop/cart.kt#Basket", "inherit"),
        ("Cart.add", "shop/cart.kt#priced", "call"),
        ("Cart.add", "shop/cart.kt#Cart.accepted", "call"),
    }
    assert fingerprint("shop/cart.kt", roots) == ""


def test_the_folder_of_each_language_has_its_name_and_its_queries_fit_its_grammar() -> None:
    for ending in FOLDERS:
        language = by_ending(ending)
        assert language is not None
        assert language.name == languages.name_of(ending)
        assert by_name(language.name) is language
        assert all(
            (folder / "scopes.scm").is_file() and (folder / "names.scm").is_file() for folder in language.queries
        )

"""Names that lead over a third file to where they are defined, in the database, while files come and go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

Query = Callable[..., list[Any]]
Edges = Callable[..., set[tuple[str, str]]]

EDGES = """
    SELECT one.key AS origin, two.key AS target
    FROM edge JOIN item AS one ON one.id = from_id JOIN item AS two ON two.id = to_id
    WHERE type = ANY (%s)
"""


@pytest.fixture
def edges(tmp_path: Path, database: str, query: Query) -> Edges:
    """Writes files, or removes those whose text is None, reads the folder, and says which edges there are."""

    def read(files: dict[str, str | None], *types: str) -> set[tuple[str, str]]:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                (tmp_path / path).unlink()
            else:
                (tmp_path / path).write_text(text)
        with detent.open(database=database, sources=make("code", FolderSettings(tmp_path).as_data())) as db:
            db.run(wait=False)
        return {(row.origin, row.target) for row in query(EDGES, list(types))}

    return read


def test_a_name_leads_over_two_packages_to_where_it_is_defined(edges: Edges) -> None:
    files: dict[str, str | None] = {
        "app.py": "from store import Kind\ndef f():\n    Kind()\n",
        "store/__init__.py": "from .kinds import Kind\n",
        "store/kinds/__init__.py": "from .kind import Kind\n",
        "store/kinds/kind.py": "class Kind: ...\n",
    }
    assert edges(files, "CONSUMES") == {("app.py#f", "store/kinds/kind.py#Kind")}
    assert edges({"store/kinds/__init__.py": "class Kind: ...\n"}, "CONSUMES") == {
        ("app.py#f", "store/kinds/__init__.py#Kind")
    }
    assert edges({"store/kinds/__init__.py": ""}, "CONSUMES") == set()


def test_a_module_that_becomes_a_package_is_still_imported(edges: Edges) -> None:
    files: dict[str, str | None] = {"app.py": "import store\nstore.go()\n", "store.py": "def go(): ...\n"}
    assert edges(files, "IMPORTS", "CONSUMES") == {("app.py", "store.py"), ("app.py", "store.py#go")}
    moved: dict[str, str | None] = {"store.py": None, "store/__init__.py": "def go(): ...\n"}
    assert edges(moved, "IMPORTS", "CONSUMES") == {
        ("app.py", "store/__init__.py"),
        ("app.py", "store/__init__.py#go"),
    }


def test_a_go_function_is_found_in_whichever_file_of_its_package_it_is(edges: Edges) -> None:
    files: dict[str, str | None] = {
        "go.mod": "module ex.org/m\n",
        "main.go": 'package main\nimport "ex.org/m/net"\nfunc main() { net.Dial() }\n',
        "net/a.go": "package net\nfunc Dial() { help() }\n",
        "net/b.go": "package net\nfunc help() {}\n",
    }
    assert edges(files, "CONSUMES") == {("main.go#main", "net/a.go#Dial"), ("net/a.go#Dial", "net/b.go#help")}
    moved: dict[str, str | None] = {"net/a.go": None, "net/b.go": "package net\nfunc Dial() {}\n"}
    assert edges(moved, "CONSUMES") == {("main.go#main", "net/b.go#Dial")}


def test_default_exports_are_found_by_whatever_name_they_are_imported(edges: Edges) -> None:
    app = "export function App() { new Cart().add(); Total(); Cart.empty(); }\n"
    files: dict[str, str | None] = {
        "app.tsx": f'import Cart, {{ Total }} from "./shop";\n{app}',
        "shop/index.ts": 'export { default } from "./cart";\nexport { default as Total } from "./total";\n',
        "shop/cart.ts": "class Cart { static empty() {} add() {} }\nexport default Cart;\n",
        "shop/total.ts": "export default () => 1;\n",
        "old.js": "import Basket from './shop/cart.js';\nfunction old() { Basket.empty(); }\n",
    }
    assert edges(files, "CONSUMES") == {
        ("app.tsx#App", "shop/cart.ts#Cart"),
        ("app.tsx#App", "shop/total.ts#default"),
        ("old.js#old", "shop/cart.ts#Cart"),
        ("old.js#old", "shop/cart.ts#Cart.empty"),
    }


def test_what_an_index_hands_on_is_found_under_the_name_of_its_folder(edges: Edges) -> None:
    files: dict[str, str | None] = {
        "app.ts": 'import { run } from "./lib";\nfunction f() { run(); }\n',
        "lib/index.ts": 'export { go as run } from "./go";\n',
        "lib/go.ts": "export function go() {}\n",
    }
    assert edges(files, "CONSUMES") == {("app.ts#f", "lib/go.ts#go")}

"""`detent graph`: neighbours, paths, surroundings, digest, export and import."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx
import pytest
from pyarrow import parquet

import detent
from detent.cli.counting import Counting
from detent.cli.drawing import console
from detent.lifecycle import TOPIC

Result = subprocess.CompletedProcess[str]

LINKS = {
    "home": ["about", "news", "gone"],
    "about": ["home"],
    "news": ["about"],
    "lost": [],
    "again & <again>": ["news"],
}


@pytest.fixture
def site(opened: detent.Detent) -> detent.Detent:
    """Five pages with links between them, and one that is not read yet."""
    opened.declare("site", "Page", TOPIC)
    opened.add("site", "Page", [*LINKS, "unread"])
    items = opened.claim(TOPIC, "pending", owner="somebody", limit=5)
    for page in items:
        links = [detent.Reference("LINKS_TO", "Page", key) for key in LINKS[page.key]]
        node = detent.Node(page.key.title(), f"The page \x0b {page.key}\r\n.", {"letters": len(page.key)})
        opened.settle([(page, detent.Done(node, links))])
    return opened


@pytest.mark.usefixtures("site")
def test_neighbours_are_listed_with_their_edges(said: Callable[..., Result], document: Callable[..., Any]) -> None:
    listed = said("graph", "neighbours", "home").stdout.splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [["→", "LINKS_TO"], ["→", "LINKS_TO"], ["←", "LINKS_TO"]]
    found = document("graph", "neighbours", "home", "--direction", "in")
    assert set(found) == {"node", "neighbours", "next"}
    assert found["node"]["title"] == "Home"
    [one] = found["neighbours"]
    assert (one["direction"], one["type"], one["node"]["key"], one["properties"]) == ("in", "LINKS_TO", "about", {})
    assert said("graph", "neighbours", "lost").stdout == "There are no such edges.\n"


@pytest.mark.usefixtures("site")
def test_the_command_for_the_next_page_of_neighbours_gives_it(said: Callable[..., Result]) -> None:
    shown = []
    result = said("graph", "neighbours", "home", "--limit", "1", "--type", "LINKS_TO")
    while "Next page: " in result.stderr:
        shown.append(result.stdout.splitlines()[1].split()[-2])
        result = said(*shlex.split(result.stderr.split("Next page: ")[1])[1:])
    shown.append(result.stdout.splitlines()[1].split()[-2])
    assert shown == ["about", "news", "about"]


@pytest.mark.usefixtures("site")
def test_a_path_is_shown_step_by_step(said: Callable[..., Result], document: Callable[..., Any]) -> None:
    shown = said("graph", "path", "again & <again>", "home")
    assert shown.stdout.splitlines() == [
        "site/Page/again & <again>",
        "  → LINKS_TO  site/Page/news",
        "  → LINKS_TO  site/Page/about",
        "  → LINKS_TO  site/Page/home",
    ]
    none = said("graph", "path", "home", "lost")
    assert (none.returncode, "There is no path from 'home' to 'lost' of at most 10 edges." in none.stdout) == (1, True)
    assert document("graph", "path", "home", "news", "--direction", "both")["complete"] is True


@pytest.mark.usefixtures("site")
def test_what_is_around_a_node_is_shown_with_its_edges(
    said: Callable[..., Result], document: Callable[..., Any]
) -> None:
    shown = said("graph", "around", "home", "--depth", "2").stdout
    assert "site/Page/news  LINKS_TO →  site/Page/about" in shown
    part = document("graph", "around", "home", "--limit", "2")
    assert (len(part["nodes"]), part["complete"]) == (2, False)
    assert "There are more" in said("graph", "around", "home", "--limit", "2").stderr


@pytest.mark.usefixtures("site")
def test_mistakes_are_told_in_a_sentence(said: Callable[..., Result], tmp_path: Path) -> None:
    for command, words in {
        ("neighbours", "hame"): "There is no item with the key 'hame'. Did you mean 'home'?",
        ("neighbours", "unread"): "site/Page/unread has no node: it is 'pending'",
        ("neighbours", "home", "--only-label", "Pages"): "Did you mean 'Page'?",
        ("around", "home", "--source", "sight"): "Did you mean 'site'?",
        ("import", "nothing.jsonl"): "nothing.jsonl cannot be read: No such file or directory.",
        ("export", "no/where.jsonl"): "cannot be written: No such file or directory.",
        ("export", "-", "--format", "parquet"): "give a folder",
        ("export", "out.csv"): "out.csv ends with .csv, which is no format. Let it end with one, or name it: jsonl",
        ("digest", "--source", "sight"): "Did you mean 'site'?",
    }.items():
        result = said("graph", *command)
        assert (result.returncode, words in result.stderr) == (2, True), result
    assert list(tmp_path.glob("*.part")) == []


def test_a_key_that_two_nodes_have_is_asked_about(site: detent.Detent, said: Callable[..., Result]) -> None:
    site.declare("other", "Page", TOPIC)
    site.add("other", "Page", ["home"])
    [page] = [each for each in site.claim(TOPIC, "pending", owner="w") if each.key == "home"]
    site.settle([(page, detent.Done(detent.Node("Home")))])
    result = said("graph", "neighbours", "home")
    assert "2 items have the key 'home'" in result.stderr
    assert "--source other --label Page" in result.stderr
    assert said("graph", "neighbours", "home", "--source", "other").returncode == 0


@pytest.mark.usefixtures("site")
def test_the_graph_is_exported_and_imported_whole(
    said: Callable[..., Result], document: Callable[..., Any], make_database: Callable[[], str], tmp_path: Path
) -> None:
    before = document("graph", "digest")
    assert (before["nodes"], before["edges"], before["references"], before["aliases"]) == (5, 5, 6, 0)
    assert said("graph", "digest").stdout.splitlines() == [
        before["digest"],
        "5 nodes, 5 edges, 6 references, 0 aliases",
    ]
    assert said("graph", "export", "graph.jsonl").stdout == "9 records written into graph.jsonl.\n"
    assert json.loads((tmp_path / "graph.jsonl").read_text().splitlines()[0])["items"] == 6
    other = ("--database", make_database())
    imported = said(*other, "graph", "import", "graph.jsonl").stdout
    assert imported == "Imported 6 items, 5 nodes, 6 references, 0 aliases.\n"
    assert document(*other, "graph", "import", "graph.jsonl") == {"items": 6, "nodes": 5, "references": 6, "aliases": 0}
    assert document(*other, "graph", "digest") == before
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.usefixtures("site")
def test_an_ending_is_not_needed_and_not_heeded_where_the_format_is_named(
    said: Callable[..., Result], tmp_path: Path
) -> None:
    for arguments in (["graph"], ["GRAPH.JSONL"], ["graph.txt", "--format", "jsonl"]):
        assert said("graph", "export", *arguments).returncode == 0
        assert len((tmp_path / arguments[0]).read_text().splitlines()) == 9


@pytest.mark.usefixtures("site")
def test_a_compressed_export_is_imported(
    said: Callable[..., Result], document: Callable[..., Any], make_database: Callable[[], str], tmp_path: Path
) -> None:
    said("graph", "export", "graph.jsonl")
    packed = gzip.compress((tmp_path / "graph.jsonl").read_bytes())
    (tmp_path / "graph.jsonl.gz").write_bytes(packed)
    other = ("--database", make_database())
    assert document(*other, "graph", "import", "graph.jsonl.gz")["items"] == 6
    assert document(*other, "graph", "digest") == document("graph", "digest")
    for damaged in (packed[:-20], packed[:40] + b"damage" + packed[46:], packed + b"more"):
        (tmp_path / "graph.jsonl.gz").write_bytes(damaged)
        result = said(*other, "graph", "import", "graph.jsonl.gz")
        assert (result.returncode, "graph.jsonl.gz is cut off or damaged: " in result.stderr) == (2, True), result
        assert "import it again" in result.stderr


@pytest.mark.parametrize(
    "content",
    [b"Dear diary", b"<graphml/>", b"\xff\xfe\x00", gzip.compress(b"Dear diary"), b"[1]"],
    ids=["text", "graphml", "binary", "gzip", "json"],
)
@pytest.mark.usefixtures("project")
def test_a_file_that_is_no_export_is_told(said: Callable[..., Result], tmp_path: Path, content: bytes) -> None:
    (tmp_path / "diary").write_bytes(content)
    result = said("graph", "import", "diary")
    assert result.returncode == 2
    assert "This is not a graph that Detent exported as JSONL." in result.stderr
    assert "Nothing was imported." in result.stderr
    assert "Line" not in result.stderr


@pytest.mark.usefixtures("site")
def test_an_export_goes_to_the_output(ran: Callable[..., Result]) -> None:
    written = ran("graph", "export", "-")
    assert [json.loads(line).get("record") for line in written.stdout.splitlines()][1:3] == ["lifecycle", "kind"]
    assert written.stderr == ""
    assert ElementTree.fromstring(ran("graph", "export", "-", "--format", "graphml").stdout) is not None  # noqa: S314


@pytest.mark.usefixtures("site")
def test_graphml_is_valid_whatever_the_texts_contain(said: Callable[..., Result], tmp_path: Path) -> None:
    said("graph", "export", "site.graphml")
    graph = networkx.read_graphml(tmp_path / "site.graphml")
    assert (len(graph), graph.number_of_edges()) == (5, 5)
    texts = {data["key"]: data["text"] for _, data in graph.nodes(data=True)}
    assert texts["again & <again>"] == "The page \ufffd again & <again>\r\n."
    assert {data["type"] for *_, data in graph.edges(data=True)} == {"LINKS_TO"}


@pytest.mark.usefixtures("site")
def test_parquet_has_nodes_and_edges(said: Callable[..., Result], tmp_path: Path) -> None:
    for _ in range(2):
        assert said("graph", "export", "site.parquet").returncode == 0
    nodes = parquet.read_table(tmp_path / "site.parquet" / "nodes.parquet").to_pylist()
    edges = parquet.read_table(tmp_path / "site.parquet" / "edges.parquet").to_pylist()
    assert {node["key"]: json.loads(node["properties"])["letters"] for node in nodes}["home"] == 4
    assert {edge["from_id"] for edge in edges} <= {node["id"] for node in nodes}
    assert len(edges) == 5
    assert sorted(file.name for file in (tmp_path / "site.parquet").iterdir()) == ["edges.parquet", "nodes.parquet"]


@pytest.mark.usefixtures("site")
def test_a_missing_package_is_named(said: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "detent.projections.parquet", raising=False)
    result = said("graph", "export", "site", "--format", "parquet")
    assert (result.returncode, "pip install 'detent[parquet]'" in result.stderr) == (2, True)


def test_the_graph_is_read_from_python(site: detent.Detent, tmp_path: Path) -> None:
    graph = site.graph
    [home] = graph.find("home")
    assert [each.node.key for each in graph.neighbours(home.id, direction="out").neighbours] == ["about", "news"]
    assert graph.node(home.id).properties == {"letters": 4}
    assert len(graph.path(home.id, graph.find("news")[0].id).edges) == 1
    assert len(graph.subgraph(home.id, depth=2).nodes) == 4
    before = graph.digest("site")
    assert graph.export(tmp_path / "graph.jsonl") == 9
    assert graph.import_file(tmp_path / "graph.jsonl").items == 6
    assert graph.digest("site") == before
    network = graph.to_networkx(texts=True)
    assert (len(network), network.number_of_edges()) == (5, 5)
    assert network.nodes[home.id]["text"].startswith("The page")


def test_a_failed_export_leaves_the_file_that_was_there(
    site: detent.Detent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "graph.jsonl"
    file.write_text("what was there")

    async def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("detent.application.exporting._write_lines", fail)
    with pytest.raises(detent.DetentError, match=r"graph.jsonl cannot be written: No space left on device\."):
        site.graph.export(file)
    assert [each.read_text() for each in tmp_path.glob("graph*")] == ["what was there"]


def test_progress_is_told_in_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Counting(console(stderr=True), "Importing", "items", every_seconds=0) as counting:
        counting.tell(1_000, 4_000)
    told = capsys.readouterr().err
    assert " Importing: 1,000 of 4,000 items, " in told
    assert " left" in told

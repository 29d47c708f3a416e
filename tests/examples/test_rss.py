"""The example package of examples/: it is built, installed, and adds a type of source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

Result = subprocess.CompletedProcess[str]

EXAMPLE = Path(__file__).parents[2] / "examples" / "rss"
COMMAND = [sys.executable, "-c", "from detent.cli import main; main()"]
ENTRY = (
    "<item><title>{0}</title><guid>{0}</guid><link>http://owl.example/{0}</link><description>{1}</description></item>"
)
FEED = """<?xml version="1.0"?>
<!DOCTYPE rss [<!ENTITY file SYSTEM "file:///etc/hostname">]>
<rss version="2.0"><channel><title>Birds</title>{}</channel></rss>"""


class Feed(ThreadingHTTPServer):
    """A feed on a socket. `status` is what it answers with."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.status = 200
        self.entries = {"heron": "A grey bird that waits for &lt;b&gt;fish&lt;/b&gt;.", "stork": "It lives on roofs."}
        self.tokens: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/feed.xml"


class _Answer(BaseHTTPRequestHandler):
    server: Feed

    def do_GET(self) -> None:
        self.server.tokens.add(token := self.headers.get("Authorization"))
        body = FEED.format("".join(ENTRY.format(*each) for each in self.server.entries.items()))
        if self.server.status != 200:
            body = f"You said {token}."
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def feed() -> Iterator[Feed]:
    with Feed() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example was installed from a copy, without asking anybody."""
    source, target = tmp_path_factory.mktemp("source") / "rss", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, source)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def ran(tmp_path: Path, database: str, installed: Path) -> Callable[..., Result]:
    """Runs the command with the example installed."""

    def run(*arguments: str, **environment: str) -> Result:
        given = {"DETENT_DATABASE_URL": database, "DETENT_RETRY_BASE_SECONDS": "0.1", **environment}
        variables = {**os.environ, "PYTHONPATH": str(installed), **given}
        command = [*COMMAND, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)

    return run


def test_a_feed_is_added_run_and_searched(ran: Callable[..., Result], feed: Feed) -> None:
    added = ran("add", "rss", "birds", feed.url, "--most", "5")
    assert (added.returncode, added.stdout) == (0, "birds is added. `detent run` loads it.\n"), added.stderr
    assert ran("run").returncode == 0
    assert "heron" in ran("search", "what waits for fish").stdout
    feed.entries["heron"] = "It sleeps."
    assert ran("run").returncode == 0
    assert "sleeps" in ran("search", "--mode", "text", "sleeps").stdout
    assert "most 5" in ran("sources").stdout


def test_its_help_and_its_mistakes_come_from_its_registration(ran: Callable[..., Result]) -> None:
    assert "rss    Add an RSS feed: its entries." in ran("add", "--help").stdout
    shown = ran("add", "rss", "--help").stdout
    assert "[default: 100]" in shown
    assert "token: Sent as" in shown
    refused = ran("add", "rss", "birds", "ftp://owl.example")
    assert refused.returncode == 2
    assert "URL: 'ftp://owl.example' cannot be used" in refused.stderr


def test_without_its_package_a_source_is_told_in_one_sentence_and_can_be_removed(
    ran: Callable[..., Result], feed: Feed
) -> None:
    assert ran("add", "rss", "birds", feed.url).returncode == 0
    told = ran("run", PYTHONPATH="")
    assert told.returncode == 2
    assert told.stderr == (
        "The source 'birds' is of the type 'rss', which is not installed. Install the package that has it, or remove "
        "the source: detent remove birds\n"
    )
    assert "birds" in ran("sources", PYTHONPATH="").stdout
    assert ran("remove", "birds", "--yes", PYTHONPATH="").returncode == 0


def test_a_token_is_sent_and_neither_kept_nor_shown(
    ran: Callable[..., Result], feed: Feed, rows_of_all_tables: Callable[[], str]
) -> None:
    token = {"DETENT_SECRET_BIRDS_TOKEN": "canary-in-the-mine"}
    told = [ran("add", "rss", "birds", feed.url, **token), ran("run", **token)]
    feed.status, feed.entries["heron"] = 503, "changed"
    told += [ran(*words, **token) for words in (("run", "--no-wait"), ("sources",), ("sources", "--json"), ("config",))]
    assert feed.tokens == {"Bearer canary-in-the-mine"}
    assert "token ***" in told[3].stdout
    shown = "".join(each.stdout + each.stderr for each in told)
    assert "canary" not in shown + rows_of_all_tables()

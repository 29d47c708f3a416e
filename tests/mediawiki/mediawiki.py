"""A MediaWiki of its own, from Debian's package: in a temporary folder, with SQLite, served by PHP on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from tests.processes import kill
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

from detent.wikitext.site import CANONICAL

PLACE = Path("/usr/share/mediawiki")
PACKAGES = ("mediawiki", "php-cli", "php-sqlite3", "php-mbstring", "php-xml", "php-intl")
_PHP = shutil.which("php") or ""
_COMMAND = (_PHP, "-d", "display_errors=0")  # what PHP complains of would stand in answers and dumps
_NEEDED = frozenset({"pdo_sqlite", "mbstring", "xml", "xmlreader", "intl"})

NAMESPACES = dict(CANONICAL) | {4: "Almanac", 5: "Almanac talk"}

# Nothing is kept from one request to the next and no work is put off, so that what was written is answered at once. The
# machine does not lose power meanwhile, so that nothing need wait for its disk.
_SETTINGS = """
$wgServer = 'http://almanac.example';
$wgMetaNamespace = 'Almanac';
$wgNamespaceAliases['Alm'] = NS_PROJECT;
$wgNamespaceAliases['Picture_book'] = NS_FILE;
$wgMainCacheType = $wgParserCacheType = $wgMessageCacheType = CACHE_NONE;
$wgJobRunRate = 0;
$wgDBservers = [[
    'type' => 'sqlite', 'host' => '', 'user' => '', 'password' => '', 'dbname' => $wgDBname, 'load' => 1,
    'flags' => DBO_DEFAULT, 'variables' => [ 'synchronous' => 'OFF' ],
]];
"""
_WORKERS = 4
_PATIENCE_SECONDS = 60.0


def missing() -> str:
    """What has to be installed first, and how; '' if nothing has."""
    listed = subprocess.run([_PHP, "-m"], capture_output=True, text=True, check=False).stdout if _PHP else ""
    if (PLACE / "maintenance").is_dir() and set(listed.lower().split()) >= _NEEDED:
        return ""
    install = f"apt-get install --no-install-recommends {' '.join(PACKAGES)}"
    return f"These tests run a real MediaWiki, and it or the PHP that it needs is not installed. On Debian: {install}"


class MediaWiki:
    """A wiki that is there as long as the context is open, with the pages that it is given. `api` is its address."""

    def __init__(self, pages: Sequence[DumpedPage]) -> None:
        self._pages = pages
        self._folder = Path(tempfile.mkdtemp(prefix="detent-mediawiki-"))
        self._server: subprocess.Popen[bytes] | None = None
        self.api = ""

    def __enter__(self) -> Self:
        try:
            self._install()
            self._import()
            self._serve()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, **parameters: str) -> dict[str, Any]:
        """What the API answers to a question."""
        asked = {"action": "query", "format": "json", "formatversion": "2", **parameters}
        answer: dict[str, Any] = httpx.post(self.api, data=asked, timeout=_PATIENCE_SECONDS).json()
        return answer

    def dump(self) -> bytes:
        """All pages as the wiki itself writes them."""
        return self._maintain("dumpBackup", "--current", "--quiet")

    def edit(self, title: str, text: str) -> None:
        """Write a page, or write it anew."""
        self._maintain("edit", title, written=text)

    def move(self, titles: Mapping[str, str], *, redirect: bool = True) -> None:
        """Give pages other titles. Those that they had lead there, if so asked."""
        lines = "".join(f"{title}|{to}\n" for title, to in titles.items())
        self._maintain("moveBatch", *([] if redirect else ["--noredirects"]), written=lines)

    def delete(self, *titles: str) -> None:
        self._maintain("deleteBatch", written="".join(f"{title}\n" for title in titles))

    def _install(self) -> None:
        options = {"dbtype": "sqlite", "dbpath": self._folder, "dbname": "owlwiki", "confpath": self._folder}
        options |= {"server": "http://127.0.0.1", "scriptpath": "", "pass": "a password for nobody"}
        self._maintain("install", *(f"--{name}={value}" for name, value in options.items()), "Owl", "Admin")
        with (self._folder / "LocalSettings.php").open("a") as settings:
            settings.write(_SETTINGS)

    def _import(self) -> None:
        path = dumps.write(self._folder, self._pages, "xml", wiki=dumps.Wiki(namespaces=NAMESPACES))
        self._maintain("importDump", "--no-updates", str(path))
        for script in ("refreshLinks", "rebuildtextindex", "rebuildrecentchanges"):
            self._maintain(script)
        self._maintain("initSiteStats", "--update")

    def _maintain(self, script: str, *arguments: str, written: str = "") -> bytes:
        """Run one of the wiki's own scripts; returns what it put out."""
        command = [*_COMMAND, str(PLACE / "maintenance" / f"{script}.php"), *arguments]
        ran = subprocess.run(command, input=written.encode(), capture_output=True, check=False, env=self._environment())
        assert ran.returncode == 0, f"{script} failed: {(ran.stdout[-2000:] + ran.stderr[-2000:]).decode()}"
        return ran.stdout

    def _environment(self) -> dict[str, str]:
        """With settings and temporary files of its own, whatever other wiki the machine has, and whoever has run these
        tests before: the names of those files are the same for everyone."""
        own = {"MW_CONFIG_FILE": self._folder / "LocalSettings.php", "TMPDIR": self._folder}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MW_")}
        return inherited | {"PHP_CLI_SERVER_WORKERS": str(_WORKERS)} | {name: str(path) for name, path in own.items()}

    def _serve(self) -> None:
        """Serve on a port that is free. If another takes it before PHP does, PHP ends; then on the next."""
        log = self._folder / "server.log"
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._is_served():
            said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            assert time.monotonic() < deadline, f"PHP does not serve: {said}"
            if self._server is None or self._server.poll() is not None:
                self._start(_free_port(), log)
            time.sleep(0.05)

    def _start(self, port: int, log: Path) -> None:
        self.api = f"http://127.0.0.1:{port}/api.php"
        with log.open("ab") as written:
            self._server = subprocess.Popen(
                [*_COMMAND, "-S", f"127.0.0.1:{port}", "-t", str(PLACE)],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                start_new_session=True,
            )

    def _is_served(self) -> bool:
        """Whether it is answered, and not by somebody else."""
        return self._server is not None and self._answers() and self._server.poll() is None

    def _answers(self) -> bool:
        try:
            return "query" in self.ask(meta="siteinfo")
        except (httpx.TransportError, ValueError):
            return False

    def _end(self) -> None:
        """Leave neither a process nor a file behind."""
        if self._server is not None:
            kill(self._server)
        shutil.rmtree(self._folder)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port

"""The virtual environment of the peers, made when it is missing or its pins have changed."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path("build/bench/peers")
PINS = Path(__file__).with_name("requirements.lock")


def interpreter() -> Path:
    """The interpreter that has the peers installed."""
    python = FOLDER / "bin" / "python"
    if _installed() != PINS.read_text():
        _install(python)
    return python.absolute()


def _installed() -> str | None:
    stamp = _stamp()
    return stamp.read_text() if stamp.exists() else None


def _install(python: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", PINS],
        check=True,
    )
    _stamp().write_text(PINS.read_text())


def _stamp() -> Path:
    """A copy of the pins, written when all of them are installed."""
    return FOLDER / "installed.lock"

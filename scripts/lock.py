"""Writes `requirements.lock`: the newest versions of everything the project and its tools need, one per line.

The file has plain `name==version` lines and no addresses, so that it works with any package index.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        freeze = [python, "-m", "pip", "list", "--format=freeze", "--exclude", "pip", "--exclude", "setuptools"]
        pinned = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    (ROOT / "requirements.lock").write_text(pinned)


if __name__ == "__main__":
    main()

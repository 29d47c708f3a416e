"""A project to configure."""

from pathlib import Path

import pytest

from detent.configuration import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / ".detent").mkdir()
    return Project(tmp_path)

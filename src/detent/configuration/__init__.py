"""The user's configuration, and the place where each value was set.

A setting is declared once, in `settings` or `embedding`: its name, type, default, unit, range and one sentence. A
value is given in `detent.toml`, in the environment or by a flag, in rising precedence; `loading` reads the three
and keeps beside each value the place that it came from. Within the file, a stage's settings win over the worker's,
and over its handler's declarations. Anything unknown is refused with its place and the nearest known name: a
misspelt setting never passes for a default.

Nothing here opens a database, imports a user's module or writes a file.
"""

from detent.configuration.embedding import EmbeddingSettings
from detent.configuration.loading import load, require_stages
from detent.configuration.project import Project, find_project
from detent.configuration.setting import Explained, Setting
from detent.configuration.settings import (
    SETTINGS,
    Configuration,
    HandlerSettings,
    JournalSettings,
    RetrySettings,
    StageSettings,
    WikiDefaults,
    WorkerSettings,
)
from detent.configuration.template import template

__all__ = [
    "SETTINGS",
    "Configuration",
    "EmbeddingSettings",
    "Explained",
    "HandlerSettings",
    "JournalSettings",
    "Project",
    "RetrySettings",
    "Setting",
    "StageSettings",
    "WikiDefaults",
    "WorkerSettings",
    "find_project",
    "load",
    "require_stages",
    "template",
]

"""The names of stages in `detent.toml`, held against those that the user's sources have."""

from collections.abc import Iterable

from detent.configuration.settings import STAGE, Configuration, dotted
from detent.configuration.values import nearest
from detent.errors import UnknownSetting


def require_stages(configuration: Configuration, known: Iterable[str]) -> None:
    """A section [stage.NAME] of which nobody takes notice is a mistake, like any misspelt setting."""
    names = {name: name for name in sorted(known)}
    for stage in configuration.stages:
        if stage not in names:
            meant = nearest(stage, names)
            advice = f"Did you mean [{dotted((STAGE, meant))}]?" if meant else f"There are: {', '.join(names)}."
            raise UnknownSetting(f"{_origin(configuration, stage)}: your sources have no stage {stage}. {advice}")


def _origin(configuration: Configuration, stage: str) -> str:
    """The place of the first setting of a stage."""
    section = dotted((STAGE, stage)) + "."
    return next(origin for name, origin in configuration.origins.items() if name.startswith(section))

"""The file that a new project starts with."""

from tests.configuration.reading import loaded

from detent.configuration import (
    SETTINGS,
    Configuration,
    Project,
    StageSettings,
    template,
)


def uncommented(text: str) -> str:
    return "\n".join(line[1:] if line[:1] == "#" and line[1:2] != " " else line for line in text.split("\n"))


def test_the_template_changes_nothing_as_it_is(project: Project) -> None:
    configuration = loaded(project, template())
    assert configuration == Configuration()
    assert configuration.origins == {}


def test_the_template_with_every_line_uncommented_gives_the_defaults(project: Project) -> None:
    configuration = loaded(project, uncommented(template()))
    assert configuration == Configuration()
    assert set(configuration.origins) == {name for name, each in SETTINGS.items() if each.default is not None}


def test_the_examples_in_the_template_can_be_used(project: Project) -> None:
    text = template().replace("# Unset by default; for example: ", "").replace("#   ", "")
    configuration = loaded(project, text)
    assert configuration.database == "postgresql://detent@db.example/detent"
    assert configuration.journal.retention_days == 365
    assert configuration.stages == {"node.parsing": StageSettings(batch_size=20)}


def test_the_template_tells_of_every_setting_within_the_width_of_a_page() -> None:
    text = template()
    for setting in SETTINGS.values():
        assert setting.description in text
        assert setting.environment in text
    assert max(len(line) for line in text.splitlines()) <= 110

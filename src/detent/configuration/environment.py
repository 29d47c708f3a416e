"""Values from the environment, as `DETENT_SECTION_KEY`."""

from collections.abc import Mapping

from detent.configuration.lines import KeyPath
from detent.configuration.settings import SETTINGS, by_key
from detent.configuration.values import Given, checked, from_text, nearest
from detent.errors import UnknownSetting

PREFIX = "DETENT_"

# Variables with that prefix which are not settings, and their purpose.
NOT_SETTINGS = {
    "DETENT_SAMPLES": "the folder of recorded responses that the conformance tests read",
    "DETENT_SECRETS_FILE": "the file of secrets to read, instead of .detent/secrets.toml",
    "DETENT_SERVER_HOME": "where root's embedded servers keep their data, instead of /var/lib/detent",
    "DETENT_TRACE": "shows the stack trace of an unexpected error",
}
NOT_SETTINGS_PREFIXES = ("DETENT_TEST_", "DETENT_SECRET_")  # the tests' own, and secrets of sources

_BY_VARIABLE = {each.environment: each for each in SETTINGS.values()}


def from_environment(environment: Mapping[str, str]) -> dict[KeyPath, Given]:
    """Return the values of the variables; an empty variable counts as not set."""
    given = {}
    for variable, text in environment.items():
        if not _claims_to_be_a_setting(variable):
            continue
        if variable not in _BY_VARIABLE:
            raise UnknownSetting(_unknown(variable))
        if text.strip():
            setting = _BY_VARIABLE[variable]
            origin = f"environment {variable}"
            value = checked(setting, from_text(setting, text), setting.name, origin)
            given[setting.path] = Given(value, origin)
    return given


def _claims_to_be_a_setting(variable: str) -> bool:
    return (
        variable.startswith(PREFIX) and variable not in NOT_SETTINGS and not variable.startswith(NOT_SETTINGS_PREFIXES)
    )


def _unknown(variable: str) -> str:
    unknown = f"environment {variable}: there is no such setting."
    if variable.startswith("DETENT_STAGE_"):
        return f"{unknown} Override a stage in detent.toml, under [stage.NAME]."
    names = {key.upper(): each for key, each in by_key().items()}
    names |= {each.environment.removeprefix(PREFIX): each for each in SETTINGS.values()}
    meant = nearest(variable.removeprefix(PREFIX), names)
    if meant:
        return f"{unknown} Did you mean {meant.environment}?"
    return f"{unknown} Unset it; names that begin with {PREFIX} are reserved for settings."

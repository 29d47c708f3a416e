"""Values from the command line, given under the full name of their setting."""

from collections.abc import Mapping

from detent.configuration.lines import KeyPath
from detent.configuration.settings import SETTINGS
from detent.configuration.values import Given, checked, from_text, nearest
from detent.errors import UnknownSetting


def from_flags(flags: Mapping[str, object]) -> dict[KeyPath, Given]:
    """Return the values of the flags; None and the empty tuple are click's values of a flag that was not used."""
    given = {}
    for name, value in flags.items():
        if name not in SETTINGS:
            meant = nearest(name, SETTINGS)
            advice = f" Did you mean {meant.name}?" if meant else ""
            raise UnknownSetting(f"flag for {name}: there is no such setting.{advice}")
        if value is None or value == ():
            continue
        setting = SETTINGS[name]
        origin = f"flag {setting.flag}"
        typed = from_text(setting, value) if isinstance(value, str) else value
        given[setting.path] = Given(checked(setting, typed, name, origin), origin)
    return given

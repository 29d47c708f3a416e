"""The `detent.toml` that `detent init` writes: every setting, its default, and what it is for."""

import json

from detent.configuration.setting import Setting
from detent.configuration.settings import SECTIONS, SETTINGS, STAGE_SETTINGS

_HEAD = """\
# Settings of this Detent project.
# A line such as #batch_size = 100 shows a setting with its default: remove the # and change the value.
# Environment variables take precedence over this file, and flags over both; `detent config` shows every
# value in force and where it comes from.
"""

_STAGES = f"""\
# A stage may do otherwise than [worker] and its handler say, in
# {", ".join(STAGE_SETTINGS)}.
# Its name needs quotes where it has a dot. For example:
#   [stage."node.parsing"]
#   batch_size = 20
"""


def template() -> str:
    """A commented `detent.toml` that changes nothing until a line in it is uncommented."""
    blocks = [_HEAD, *(_block(each) for each in SETTINGS.values() if not each.section)]
    for section in SECTIONS:
        blocks.append(f"[{section}]\n")
        blocks += [_block(each) for each in SETTINGS.values() if each.section == section]
    return "\n".join([*blocks, _STAGES])


def _block(setting: Setting) -> str:
    expectation = setting.expectation[0].upper() + setting.expectation[1:]
    about = f"{setting.description}\n{expectation} (environment {setting.environment})."
    lines = [f"# {line}" for line in about.splitlines()]
    if setting.default is None:
        lines.append(f"# Unset by default; for example: {setting.key} = {setting.example}")
    else:
        lines.append(f"#{setting.key} = {_toml(setting.default)}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)

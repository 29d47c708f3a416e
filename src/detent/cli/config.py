"""`detent config`: every value in force, and its origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import document
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application.projects import ShownSetting, ShownSettings


@click.command(cls=Command, short_help="Show every setting and where it comes from.")
@with_session
@as_json("""
    project     the project's folder, or null
    file        the settings file, or null; it need not exist
    settings    a list of: name, value, unit, description, origin
""")
def config(session: Session, json_: bool) -> None:
    """Show every setting with its value in force and its origin: a flag, the environment, detent.toml or the
    default. Passwords are hidden.

    Values that a handler in your modules declares win over [worker] in detent.toml and over the defaults;
    [stage.NAME] in detent.toml, the environment and flags win over that.

    \b
    Examples:
      detent config
      detent --database postgresql://db.example/detent config
      DETENT_WORKER_PROCESSES=4 detent config --json
    """
    from detent.application.projects import settings_in_force

    found = settings_in_force(session.project, database=session.database)
    if json_:
        document(found.as_data())
    else:
        _show(session, found)


def _show(session: Session, found: ShownSettings) -> None:
    from detent.cli.drawing import plain, table

    place = f"of the project {found.project}" if found.project else "outside of any project"
    session.say(f"Settings {place}:")
    shown = table("Setting", "Value", "From", wide=["Value"])
    for each in found.settings:
        shown.add_row(each.name, plain(_value(each)), plain(each.origin))
    session.out.print(shown)


def _value(each: ShownSetting) -> str:
    if each.value is None or each.value == []:
        return "unset"
    if not isinstance(each.value, str | int | float):
        return ", ".join(each.value)
    value = f"{each.value:g}" if isinstance(each.value, float) else str(each.value)
    return f"{value} {_singular(each.unit) if each.value == 1 else each.unit}" if each.unit else value


def _singular(unit: str) -> str:
    return unit.removesuffix("es") if unit.endswith("sses") else unit.removesuffix("s")

"""Values given in `detent.toml`, each with its line."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from detent.configuration.lines import KeyPath, key_lines
from detent.configuration.setting import Setting
from detent.configuration.settings import SECTIONS, SETTINGS, STAGE, STAGE_SETTINGS, by_key, dotted
from detent.configuration.values import Given, checked, nearest
from detent.errors import UnknownSetting, UnreadableConfiguration


def from_file(file: Path) -> dict[KeyPath, Given]:
    """The settings of the file; none if there is no file."""
    text = _text(file)
    document, lines = _parsed(file, text)
    given = {}
    for path, value in _leaves(document):
        where = f"{file} line {lines[path]}"
        setting = _setting(path)
        if setting is None:
            raise UnknownSetting(f"{where}: {_unknown(path, value)}")
        given[path] = Given(checked(setting, value, dotted(path), where), f"{file.name} line {lines[path]}")
    return given


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UnreadableConfiguration(
            f"{file} line {line}: this is not UTF-8. Save the file in that encoding."
        ) from error
    except OSError as error:
        raise UnreadableConfiguration(
            f"{file} cannot be read: {error.strerror}. Let this user read it, or move it away."
        ) from error


def _parsed(file: Path, text: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    try:
        return tomllib.loads(text), key_lines(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, or a number or a nesting beyond Python's
        message, _, place = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", place)
        line = f" line {found[1]}" if found else f" line {len(text.splitlines())}" if place else ""
        raise UnreadableConfiguration(
            f"{file}{line}: this is not valid TOML ({message}). Correct it, or comment it out with #."
        ) from error


def _leaves(table: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """All that should be a setting: what is left once the sections are opened."""
    for key, value in table.items():
        path = (*above, key)
        if isinstance(value, dict) and _is_section(path):
            yield from _leaves(value, path)
        else:
            yield path, value


def _is_section(path: KeyPath) -> bool:
    return path[0] == STAGE if len(path) == 2 else len(path) == 1 and path[0] in (*SECTIONS, STAGE)


def _setting(path: KeyPath) -> Setting | None:
    if path[0] == STAGE:
        return STAGE_SETTINGS.get(path[2]) if len(path) == 3 else None
    return SETTINGS.get(dotted(path))


def _unknown(path: KeyPath, value: object) -> str:
    """The error for a key that is no setting, with the setting that was probably meant."""
    name = dotted(path)
    if _is_section(path):
        header = f"[{STAGE}.NAME]" if path == (STAGE,) else f"[{name}]"
        return f"{name} is a section. Write {header} on a line of its own, and its settings below it."
    if path[0] == STAGE:
        return _unknown_in_stage(path, value)
    if isinstance(value, dict) and len(path) == 1:
        return _unknown_section(name)
    section = ".".join(path[:-1])
    beside = {each.key: each for each in SETTINGS.values() if each.section == section}
    anywhere = by_key()
    meant = anywhere.get(path[-1]) or nearest(path[-1], beside) or nearest(path[-1], anywhere)
    return f"there is no setting {name}. {_advice(meant, section, beside)}"


def _unknown_in_stage(path: KeyPath, value: object) -> str:
    unknown = f"there is no setting {dotted(path)}."
    if isinstance(value, dict):
        return f"{unknown} A stage whose name has a dot needs quotes: [{dotted((STAGE, '.'.join(path[1:])))}]."
    meant = nearest(path[-1], STAGE_SETTINGS)
    return f"{unknown} Did you mean {meant.key}?" if meant else f"{unknown} {_known('A stage', STAGE_SETTINGS)}"


def _unknown_section(name: str) -> str:
    sections = {each: each for each in (*SECTIONS, STAGE)}
    meant = nearest(name, sections)
    advice = f"Did you mean [{meant}]?" if meant else _known("The file", [f"[{each}]" for each in sections])
    return f"there is no section [{name}]. {advice}"


def _advice(meant: Setting | None, section: str, beside: Iterable[str]) -> str:
    if meant is None:
        return _known(f"[{section}]" if section else "The top of the file", beside)
    if meant.section == section:
        return f"Did you mean {meant.key}?"
    if meant.section:
        return f"Did you mean {meant.key} in [{meant.section}]?"
    return f"Did you mean {meant.key}? It goes above the first [section]."


def _known(place: str, names: Iterable[str]) -> str:
    return f"{place} may hold {', '.join(names)}."

"""Slips of the pen: titles that one which is missing may stand for. Whether they are there, others find out."""

from __future__ import annotations

from string import ascii_lowercase

_SHORT = 5
"""A title with fewer letters has too many neighbours to say which of them was meant."""


def small_slips(title: str) -> list[str]:
    """The titles that this one is if letters were written small or large, two were exchanged, or one is too many."""
    inner = title[:1].lower() + title[1:]
    exchanged = [inner[:at] + inner[at + 1] + inner[at] + inner[at + 2 :] for at in range(len(title) - 1)]
    shorter = [title[:at] + title[at + 1 :] for at in range(len(title))] if len(title) > 1 else []
    return _others(title, [title.capitalize(), title.title(), *exchanged, *shorter])


def great_slips(title: str) -> list[str]:
    """The titles that this one is if a letter was left out, or is another one."""
    if len(title) < _SHORT:
        return []
    letters = sorted({*ascii_lowercase, *title.lower(), " "})
    inner = title[:1].lower() + title[1:]
    longer = [inner[:at] + letter + inner[at:] for at in range(len(title) + 1) for letter in letters]
    changed = [title[:at] + letter + title[at + 1 :] for at in range(len(title)) for letter in letters]
    return _others(title, [*longer, *changed])


def _others(title: str, found: list[str]) -> list[str]:
    """The variants that differ from the title, each once, capitalised as on most wikis."""
    large = dict.fromkeys(each[:1].upper() + each[1:] for each in found)
    return [each for each in large if each != title and each.strip()]

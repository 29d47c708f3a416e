"""Measures and dates: the output of templates that format numbers.

A wrong number is worse than none. So the output is shown only if all arguments have a known form; otherwise it is
empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from detent.wikitext.marks import GONE, NOTHING
from detent.wikitext.verbatim import decoded

_AMOUNT = re.compile(r"[-+\u2013\u2212\u00b1]?+[.,]?+\d[-+\u2013\u2212\u00b1\d.,/\u2044\u00d7ex ]*+(?<=\d)")
_MULTIPLE = re.compile(r"e\d")
"""Multiplies a unit by thousands or millions, as in `e3km`; the result is shown in another way."""

_JOINERS = {
    **dict.fromkeys(("-", "\u2013"), "\u2013"),
    **dict.fromkeys(("x", "xx", "\u00d7", "*"), " \u00d7 "),
    **dict.fromkeys(("+/-", "\u00b1"), " \u00b1 "),
    **{joiner: f"{joiner} " for joiner in (",", ", and", ", or")},
    **{joiner: f" {joiner} " for joiner in ("+", "/", "and", "by", "or", "to", "to about")},
    **{f"{joiner}({sign})": f" {joiner} " for joiner, sign in (("and", "-"), ("by", "x"), ("to", "-"))},
}
"""Words between two amounts, and how each is shown."""

_SCALES = (
    "mi/mile/miles furlong/fur chain/ch rd yd/yard/yards ft/foot/feet in/inch/inches",
    "LT Lcwt qtr st/stone lb/lbs/pound/pounds oz/ounce/ounces",
    "ST cwt lb/lbs/pound/pounds oz/ounce/ounces",
    "km m cm mm",
    "kg g",
)
"""Units, the largest first, each of which may be followed by an amount of a smaller one. Any other number after a
unit is the precision of the result."""

_RANKS = [{unit: rank for rank, same in enumerate(scale.split()) for unit in same.split("/")} for scale in _SCALES]
_FORM = re.compile(r"((?:aj)*+)(aw(?:aw)*+)(?:a?|w[awex]*+|e++a?)e*+")
"""Amounts, joiners, words and empty arguments in a row: a range, an amount with its unit, smaller amounts, and the
unit of the result, which is not shown."""

_BLANK = f" \n{NOTHING}"
_LONGEST_YEAR, _MONTHS, _DAYS = 4, 12, 31


def measured(values: Sequence[str]) -> str:
    """Format a measure: `5|km|mi` is 5 km, `5|to|7|cm` is 5 to 7 cm, `5|ft|6|in|cm` is 5 ft 6 in."""
    given = [decoded(value).strip(_BLANK) for value in values]
    form = _FORM.fullmatch("".join(map(_kind, given)))
    if form is None:
        return ""
    first, end = form.end(1), form.end(2)
    units = given[first + 1 : end : 2]
    if not all(map(_may_follow, units[1:], units)):
        return ""
    range_of = (_JOINERS[each] if place % 2 else each for place, each in enumerate(given[:first]))
    return "".join(range_of) + " ".join(given[first:end])


def _kind(argument: str) -> str:
    if not argument:
        return "e"
    if argument in _JOINERS:
        return "j"
    if _AMOUNT.fullmatch(argument):
        return "a"
    return "x" if GONE in argument or _MULTIPLE.match(argument) else "w"


def _may_follow(unit: str, larger: str) -> bool:
    return any(larger in ranks and ranks[larger] < ranks.get(unit, -1) for ranks in _RANKS)


def dated(values: Sequence[str]) -> str:
    """Format a date: `1879|3|14` is 1879-03-14. Of two dates, the first is shown if it is complete."""
    given = [value.strip(_BLANK) for value in values[:3]]
    while given and not given[-1]:
        given.pop()
    if not all(value.isdecimal() and len(value) <= _LONGEST_YEAR for value in given):
        return ""
    if any(not 1 <= int(value) <= most for value, most in zip(given[1:], (_MONTHS, _DAYS), strict=False)):
        return ""
    return "-".join(value.zfill(2) for value in given)

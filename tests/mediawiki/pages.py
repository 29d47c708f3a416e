"""The pages of the wiki that the tests import: some made by hand, each for something that could go wrong, and some
three hundred made by a generator that always makes the same ones."""

from __future__ import annotations

import random

from tests.mediawiki.generating import generated
from tests.sources.wiki.dumps import DumpedPage

SEEDS = ("Owl", "Odd titles", "Other names", "Article 7", "Article 170")
"""Where the expansions begin. From there, not all articles are within three links."""

LONG_TITLE = "L" + "o" * 253 + "g"
LONG_TITLE_IN_BYTES = "é".upper() + "é" * 126 + "x"

ODD_TITLES = (
    *("Äpfel", "Öl", "Übung", "Éclair", "Ёлка", "Ωmega", "Ångström", "İstanbul", "Ƿynn"),
    *("日本", "日本語の梟", "好", "올빼미", "القاهرة", "ינשוף", "नमस्ते", "ไทย"),
    *("🦉", "Owl 🦉 emoji", "👩\N{ZERO WIDTH JOINER}🚀 astronaut", "X̌ with a caron", "Q̣̇ twice marked"),
    *("OWL", "OWl", "Owl's nest", "AT&T", "R&D", "Black & white", "A &notable owl", "B &copy C", "&Owl"),
    *('The "Owl"', "Who?", "What is it?x=1&y=2", "C++", "1+1=2", "100%", "50% more", "100%-owl", "% of all"),
    *("A*B", "A^B", "Mr. Owl", ".owl", "...", "A./B", "No. 1", "Owl!", "$5"),
    *("\N{FULLWIDTH NUMBER SIGN}1", "C\N{MUSIC SHARP SIGN}"),
    *("Owl: A Life", "Batman: Year One", "Owls:Many", "Http: a word", "A:B:C", "Owl:", "Almanacs: all"),
    *("Night/Sky", "Night/Sky/Star", "1/2", "-minus", "(Owl)", "A;B", "A,B", "@home", "~~x", "A\\B", "`tick", "=A="),
    *(
        "\N{FULLWIDTH LATIN CAPITAL LETTER F}ull width",
        "Ⅷ",
        "Straße",
        "Zero\N{ZERO WIDTH JOINER}joined",
        "A \N{EN DASH} dash",
        "The owl\N{RIGHT SINGLE QUOTATION MARK}s",
    ),
    *(LONG_TITLE, LONG_TITLE_IN_BYTES),
)
"""Titles of articles. Some differ by no more than the case of a letter."""

ODD_SPELLINGS = {
    "Äpfel": "A&#776;pfel",
    "Öl": "öl",
    "Übung": "%C3%9Cbung",
    "Ёлка": "ёлка",
    "Ångström": "&#x212b;ngström",
    "AT&T": "AT&amp;T",
    "R&D": "R&#38;D",
    "Black & white": "black_&_white",
    "Who?": "Who%3F",
    "C++": "c++",
    "100%": " 100%",
    "Mr. Owl": "Mr.  Owl#Late#later",
    "Owl: A Life": ":owl: A Life",
    "Night/Sky": "night/Sky",
    "Straße": "Stra&szlig;e",
    "Owl's nest": "owl's\N{NO-BREAK SPACE}nest",
}
"""How some of them are written where they are linked to."""

REDIRECTS = {
    "Owls": "Owl",
    "Night birds": "Owls",
    "Third hand": "Night birds",
    "Late": "Night#Late hours",
    "Late again": "Late",
    "Loop 1": "Loop 2",
    "Loop 2": "Loop 1",
    "Turn 1": "Turn 2",
    "Turn 2": "Turn 3",
    "Turn 3": "Turn 1",
    "Itself": "Itself",
    "To nowhere": "A page that is missing",
    "To help": "Help:Owls",
    "To a category": ":Category:Birds",
    "To a special page": "Special:RecentChanges",
    "To another wiki": "wikipedia:Owl",
    "To many meanings": "Mercury",
    "To a list": "List of owls",
    "To an odd title": "aT&amp;T#100% sure",
    "Spelled": "_owl ",
    "Ümlaut": "öl",
    "Too long a way 1": "Too long a way 2",
    "Too long a way 2": "Too long a way 3",
    "Too long a way 3": "Too long a way 4",
    "Too long a way 4": "Owl",
}
"""Pages that are only other names: twice and four times removed, in circles, to sections, and to what is no article."""

_SAID_OTHERWISE = {
    "Said otherwise": "#redirect: [[Owl|the owl]]\n\nMore text, in [[Category:Birds]].",
    "Not at its beginning": "Here is #REDIRECT [[Owl]], which is none.",
    "Without a link": "#REDIRECT Owl, if you like.",
}

_NIGHT = """'''Night''' is when [[Owl]]s fly.<ref name="n">A [[Book in a reference]], p. 3.</ref><ref name="n" />
<!-- == No heading == and [[No link in a comment]] -->
= First level =
Text with <nowiki>[[No link]] and '''no bold'''</nowiki>.
== Second level ==
=== Third level ===
==== Fourth level ====
===== Fifth level =====
====== Sixth level ======
It is deep. [[Mouse|Mice]] and [[moon]]light.
== Late hours ==
{| class="wikitext"
|+ Hours
! Hour !! What
|-
| 3 || [[Owl|owls]] call
|-
| colspan="2" | {{Nowrap|it is [[Moon|moonlit]]}}
|}
<gallery>
File:Night.jpg|The [[Gallery link]]
</gallery>
== Late hours ==
A heading twice, with {{Unknown template|a [[Link in a template]]|b={{Nested|[[Deeper link]]}}}}.
<pre>== none ==
[[None]]</pre>
[[Category:Times]] [[category:_night_things|N]] [[:Category:Birds]] [[:File:Night.jpg]]
[[File:Night.jpg|thumb|[[Link in a caption]]]]
[[Help:Owls]] [[Talk:Owl]] [[User:Ann]] [[Project:About]] [[Almanac:About]] [[Template:Bird]]
[[#Late hours]] [[/Sky]] [[Night#Late hours|later]] [[List of owls]] [[Owl (disambiguation)]] [[Mercury]] [[X]]
== See also ==
* [[Owl]]
* [[Star]]
__NOTOC__
"""

_ARTICLES = {
    "Owl": (
        "{{Bird|name=Owl|food=[[mouse|mice]]}}\n"
        "{{Infobox animal\n| name = Owl\n| food = [[Mouse|mice]]\n| wings = 2\n}}\n"
        "The '''owl''' hunts by [[night]]. {{convert|5|km|mi}}\n\n[[Category:Birds]][[Category:Hidden things]]"
        "[[Category:Hidden by its template]][[Category:Without a page]]\n== Names ==\n[[Owls]], [[night birds]].\n"
    ),
    "Night": _NIGHT,
    "Mouse": "A [[Owl|prey]] of owls. [[Cheese]], [[Article 3]].\nAnd a line.\n\n",
    "Moon": "It shines on the [[Night]].   \n[[Category:Hidden things|*]]\n\n\n",
    "Star": "",
    "Mercury": "'''Mercury''' may be [[Star]] or [[Moon]].\n{{disambiguation}}",
    "Owl (disambiguation)": "[[Owl]] or [[OWL]]",
    "List of owls": "[[Owl]], [[OWl]]",
    "X": "A letter.",
    "Prefixes": (
        "[[wikipedia:Owl]] and [[:commons:Owls|pictures]], [[mw:Help]]; [[Owl]]. [[doi:10.1000/1]] [[Alm:About]] "
        "[[picture book:Night.jpg]] [[Image:Night.jpg]] [[Project:About]] [[Night: A Life]]"
    ),
}

_OTHER_PAGES = (
    DumpedPage("Help:Owls", "How to [[Owl]].", 12),
    DumpedPage("Almanac:About", "About.", 4),
    DumpedPage("Talk:Owl", "Is it [[Star]]?", 1),
    DumpedPage("Template:Bird", "{{{name|}}} is a bird, see [[Link by a template]]. [[Category:Hidden things]]", 10),
    DumpedPage("Template:Infobox animal", "A box.[[Category:Given by a template]]", 10),
    DumpedPage("Template:Disambiguation", "This tells meanings apart.[[Category:Meanings]]", 10),
    DumpedPage("Template:Tracking", "<includeonly>__HIDDENCAT__</includeonly>", 10),
    DumpedPage("Category:Birds", "[[Category:Animals]]", 14),
    DumpedPage("Category:Hidden things", "__HIDDENCAT__", 14),
    DumpedPage("Category:Hidden by its template", "{{Tracking}}", 14),
    DumpedPage("Category:Said to be hidden", "<nowiki>__HIDDENCAT__</nowiki>", 14),
)


def all_pages() -> list[DumpedPage]:
    """Every page, in an order of no meaning."""
    articles = _ARTICLES | _of_odd_titles() | generated()
    pages = [DumpedPage(title, text, edited=_moment(place)) for place, (title, text) in enumerate(articles.items())]
    pages += [DumpedPage(title, redirect=target) for title, target in REDIRECTS.items()]
    pages += [DumpedPage(title, text) for title, text in _SAID_OTHERWISE.items()]
    pages += _OTHER_PAGES
    random.Random(5).shuffle(pages)
    return pages


def _moment(number: int) -> str:
    return f"2024-03-01T{number // 60:02}:{number % 60:02}:07Z"


def _of_odd_titles() -> dict[str, str]:
    """An article for each odd title, and those that link to all of them and to all other names."""
    links = "\n".join(f"* [[{ODD_SPELLINGS.get(title, title)}]]" for title in ODD_TITLES)
    names = "\n".join(f"* [[{title}]]" for title in (*REDIRECTS, *_SAID_OTHERWISE))
    texts = {title: f"It has an odd title. [[Article {number}]]" for number, title in enumerate(ODD_TITLES, 200)}
    return texts | {"Odd titles": f"Some titles are odd.\n== All of them ==\n{links}", "Other names": names}

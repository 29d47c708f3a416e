"""Reads wikitext with mwparserfromhell: pages as a JSON list of texts in, what is found in each and the seconds out.

The step is the one that Detent does: parse a page, list its links and headings, and make plain text of every section.
Its seconds are those of the processor; JSON is read and written outside of them.
"""

import json
import sys
import time

import mwparserfromhell


def main() -> None:
    texts = json.load(sys.stdin)
    began = time.process_time()
    pages = [_read(text) for text in texts]
    json.dump({"seconds": time.process_time() - began, "pages": pages}, sys.stdout)


def _read(text: str) -> tuple[list[str], list[tuple[int, str]]]:
    code = mwparserfromhell.parse(text)
    links = [str(link.title) for link in code.filter_wikilinks(recursive=True)]
    headings = [(heading.level, heading.title.strip_code()) for heading in code.filter_headings()]
    for section in code.get_sections(flat=True, include_lead=True):
        section.strip_code()
    return links, headings


if __name__ == "__main__":
    main()

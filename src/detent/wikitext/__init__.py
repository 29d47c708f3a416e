"""Wikitext: the source of an article into its sections, links, categories and infobox.

It is read in three passes, each of which looks at every character a bounded number of times. `verbatim` takes out
comments and what is no wikitext, such as formulas. `markup` splits the rest at the few marks that nest (links,
templates, references, headings), finds what there is to find, and leaves text with what can be seen of them. `plain`
takes the marks out of that text, all sections of an article at once; `lines` does so with those that stand at the
beginning of a line, lists and tables among them, whose `rows` become lines, and `hiding` takes out what no reader sees.
Links may be `relative` to their page. Before `markup`, `switches` takes out words such as `__NOTOC__`. In
wikis whose language has variants, `variants` takes one of each choice between them, before `markup` and of what that
leaves. What some `templates` show is known; `measures` tells it of numbers and dates.

A page may be written by anyone. Nothing here calls itself for what stands within something else, nothing fails, and
no input takes more than a time that grows with its length.
"""

from detent.wikitext.article import Article, Link, Section
from detent.wikitext.parsing import parse
from detent.wikitext.transclusion import Given, given

__all__ = ["Article", "Given", "Link", "Section", "given", "parse"]

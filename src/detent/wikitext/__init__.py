"""Wikitext: the source of an article, parsed into its sections, links, categories and infobox.

It is read in three passes, each of which looks at every character a bounded number of times. `verbatim` takes out
comments and tags whose content is not wikitext, such as formulas. `markup` splits the rest at the few marks that
nest (links, templates, references, headings), collects links, templates and headings, and leaves their visible
text. `plain` removes the marks from that text, for all sections of an article at once; `lines` removes the marks
at the beginning of a line, including lists and tables, whose `rows` become lines, and `hiding` removes what no
reader sees. Links may be `relative` to their page. Before `markup`, `switches` takes out words such as
`__NOTOC__`. In wikis whose language has variants, `variants` chooses one of each, before `markup` and in what that
leaves. `templates` knows the output of some templates; `measures` formats their numbers and dates.

A page may be written by anyone. Nothing here recurses into nested markup, nothing fails, and the time is bounded
by a constant times the input's length.
"""

from detent.wikitext.article import Article, Link, Section
from detent.wikitext.parsing import parse
from detent.wikitext.transclusion import Given, given

__all__ = ["Article", "Given", "Link", "Section", "given", "parse"]

"""Wikis: articles from a MediaWiki, over its API or out of a dump, and further along their links.

A seed is an article of depth 0, what it links to is of depth 1, and so on. `pages` are what a wiki answers when it is
asked for titles, whichever way it is reached: `client` asks its API, `dump` reads its files. `site` knows how the wiki
spells titles; `wikitext` turns an article's source into sections, links and categories; `handling` makes nodes of them
and says where the links lead. `registration` declares the type `wiki` and its options; `adding` checks what is said of
a wiki, and its seeds, before anything is kept.
"""

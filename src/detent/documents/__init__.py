"""Documents: from a file's bytes to its outline, its sections and passages, and what it refers to.

`formats` chooses a parser by the file's name or its first bytes. Each parser takes bytes and a name, and returns a
`Parsed`: the parts with their texts and keys, the links of a document, the imports and uses of code, and sentences on
what could not be read. `code` and `data` read what has a grammar, by a syntax tree (`tree`); the others collect an
`outline` of sections. A part's key is made of names and headings, so that it stays the same while other parts change.

Everything here is pure and safe with any bytes: nothing is executed, followed or fetched, and time and memory grow in
proportion to the file. Nothing here reads a disk, or knows of folders, sources or a database; where a name or a link
leads is for those to find who know what else there is. A parser whose output changes gets another version in `formats`.
"""

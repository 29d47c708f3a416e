"""Code: from a source file to its scopes, to what it imports, and to what they call, inherit from and use.

A file becomes a syntax tree (`tree`). The queries of its `language` find in it the scopes (`scopes`), the comments
above them (`comments`), the statements that import, and the names (`uses`), of which those that a local variable hides
(`bindings`) are left out; `parsing` brings these together. What differs between languages is in `languages/`, a folder
for each. Nothing here follows the tree by recursion, however deep it is, and nothing resolves a name: that takes more
than one file.
"""

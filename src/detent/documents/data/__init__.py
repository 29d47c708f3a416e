"""Data files: JSON, JSON lines, YAML and TOML, a part for each entry of the top level, as it is written.

No values are made of what is read: aliases are not followed, and no depth of nesting is too deep for the memory. What
is malformed is told with its place.
"""

"""Benchmarks of Detent beside its peers: `python -m benchmarks [NAME]`, or `make bench NAME=…`.

What lives here: one module per benchmark, each with a function `measure(tell)` that returns figures and is
listed in `__main__`; `contenders`, who is measured; `life`, the clock that times every contender alike;
`postgres`, the one server that all of them share; `peers`, the others' programs, in an environment of their
own.

How a figure is made: the contenders take turns on the same server, each time in a new database, several
rounds with alternating order, and the median counts. Every contender runs in the configuration that proved
best for it here, and `fsync` and `synchronous_commit` are on for all. A run counts only if the tables say
afterwards that every item is finished.
"""

"""Services: asking somebody else's server politely.

A source asks over a `Connection`, which lets two questions at most be under way to a host, and returns the answer or
raises `ServiceFailed`: the trouble, how long to wait, and a sentence without secrets. `Manners` say when a host is
asked: they take a turn before each request (`pace`) and leave the host alone after a refusal, so that all processes
which share a database share one rate. `secrets` keeps credentials out of addresses, errors and logs; `keyring` reads
those of sources from the environment or the owner's file.

Nothing here knows what is asked, and nothing here writes. A source adds what is particular to its service: the meaning
of its error bodies, its pages, its parameters.
"""

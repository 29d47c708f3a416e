"""Workers: they move items from state to state, and can be killed at any moment.

A worker (`worker`) claims items, its hands (`hands`) call the handlers as tasks (`tasks`) or in threads
(`jobs`), its settler (`settler`) writes the outcomes. Beside it, in another process, its keeper (`keeper`)
renews the leases and gives up what hangs; the two share a board (`board`). A crew (`crew`) is several worker
processes (`process`), the first of which may have been started before (`recruit`), under one keeper, as the command
line runs them; a program that works by itself (`in_process`) has its keeper in a process beside it (`keeping`).
Nothing here knows SQL.

Who only starts a process (`recruit`) imports nothing of the rest: it is to start before anything else is done.
"""

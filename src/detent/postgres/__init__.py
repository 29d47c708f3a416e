"""Detent's own PostgreSQL, for a project that names no server: one per `.detent` folder, on a Unix socket.

How it lives. Whoever needs the database attaches: shares `users.lock`, and under `start.lock` brings up what
is missing, first the warden, then the data folder, then the server. Everybody else finds it running. All of
them are equal: the server is nobody's child, and any of them may be killed. When the last one has left or
died, the kernel gives `users.lock` to the warden, which stops the server and ends; who arrives meanwhile
waits, and starts it again. `hold` leaves a user that stays. `locks` says which lock means what, and
everything follows from these.

Where it lives. In `.detent/`; for root, whom PostgreSQL refuses, it runs under another account, and where
that one cannot reach the project, outside of it (`place`).

What is never done here: removing data that was ever whole, widening a permission, listening on the network,
believing a process number without looking whether that process works in the data folder, and SQL.
"""

from detent.postgres.attachment import Attachment, attach, hold, stop
from detent.postgres.information import ServerInfo, describe

__all__ = ["Attachment", "ServerInfo", "attach", "describe", "hold", "stop"]

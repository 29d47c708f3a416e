"""Detent's own PostgreSQL, for a project that names no server: one per `.detent` folder, on a Unix socket.

How it lives. A process that needs the database attaches: it shares `users.lock`, and under `start.lock` it starts
what is missing: first the warden, then the data folder, then the server. Later users find it running. All users
are equal: the server is nobody's child, and any user may be killed. When the last user has left or died, the
kernel grants `users.lock` to the warden, which stops the server and ends; a user that arrives meanwhile waits, and
starts it again. `hold` leaves a user that stays. `locks` defines what each lock means, and everything else follows
from that.

Where it lives. In `.detent/`. For root, whom PostgreSQL refuses, it runs under another account; if that account
cannot reach the project, it lives outside the project (`place`).

Never done here: removing data that was ever complete, widening a permission, listening on the network, believing a
process number without checking that the process works in the data folder, and SQL.
"""

from detent.postgres.attachment import Attachment, attach, hold, stop
from detent.postgres.information import ServerInfo, describe

__all__ = ["Attachment", "ServerInfo", "attach", "describe", "hold", "stop"]

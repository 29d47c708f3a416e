"""PostgreSQL's settings, passed at each start and fitted to the machine, so that an upgrade of Detent brings its
own.

`fsync`, `synchronous_commit` and `full_page_writes` keep their default, on: committed data is on disk.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from detent.postgres.place import PORT

_MIB = 1024 * 1024
_GIB = 1024 * _MIB


def memory_bytes(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the memory available to the server: the machine's, or less if a control group sets a limit."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = own.read_text().splitlines() if own.exists() else []
    return min([machine, *(limit for line in lines for limit in _limits(groups, line))])


def for_machine(memory: int, shared_memory: int) -> dict[str, str]:
    """Return the settings for a machine with this much memory and room for shared memory, in bytes."""
    buffers = _between(32 * _MIB, memory // 4, 2 * _GIB)
    return {
        "shared_buffers": _kib(buffers),
        "effective_cache_size": _kib(max(memory // 2, buffers)),
        "work_mem": _kib(_between(4 * _MIB, memory // 512, 32 * _MIB)),
        "maintenance_work_mem": _kib(_between(32 * _MIB, memory // 16, _GIB)),
        # In a container `/dev/shm` is often 64 MB, too little for a parallel index build.
        "dynamic_shared_memory_type": "posix" if shared_memory >= _GIB else "mmap",
    }


FIXED = {
    "port": str(PORT),
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "huge_pages": "try",
    "jit": "off",
    "random_page_cost": "1.1",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "wal_compression": "on",
    # Tables that serve as queues turn over their rows in minutes.
    "autovacuum_naptime": "10s",
    "autovacuum_vacuum_cost_limit": "2000",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    # An application sees its own errors; their statements may be megabytes long.
    "log_min_error_statement": "panic",
    "cluster_name": "detent",
}


def arguments(socket_folder: Path) -> list[str]:
    """Return the settings as arguments of `postgres`."""
    quoted = str(socket_folder).replace('"', '""')
    chosen = FIXED | for_machine(memory_bytes(), _shared_memory_bytes())
    chosen["unix_socket_directories"] = f'"{quoted}"'
    return [f"--{name}={value}" for name, value in chosen.items()]


def _limits(groups: Path, line: str) -> Iterator[int]:
    """Yield the limits of the control group on a line of `/proc/self/cgroup`, and of all groups around it."""
    _, controllers, path = line.split(":", 2)
    if controllers not in ("", "memory"):
        return
    root, name = (groups / "memory", "memory.limit_in_bytes") if controllers else (groups, "memory.max")
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        if folder.is_relative_to(root):
            with contextlib.suppress(OSError, ValueError):  # no limit is set there, or it is `max`
                yield int((folder / name).read_text())


def _shared_memory_bytes() -> int:
    try:
        room = os.statvfs("/dev/shm")  # noqa: S108 - asked for its size only
    except OSError:
        return 0
    return room.f_blocks * room.f_frsize


def _between(low: int, wanted: int, high: int) -> int:
    return max(low, min(wanted, high))


def _kib(size: int) -> str:
    return f"{size // 1024}kB"

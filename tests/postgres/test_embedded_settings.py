"""What the server is told fits the machine, and reaches it at every start."""

from pathlib import Path

import psycopg

from detent import postgres
from detent.postgres import settings

GIB = 1024**3


def a_group(root: Path, line: str, limits: dict[str, str]) -> Path:
    for name, limit in limits.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(limit)
    own = root / "own"
    own.write_text(line)
    return own


def test_a_limit_of_any_control_group_around_the_process_counts(tmp_path: Path) -> None:
    limits = {"memory.max": "max\n", "a/memory.max": f"{GIB}\n", "a/b/memory.max": "max\n"}
    own = a_group(tmp_path, "0::/a/b\n", limits)
    assert settings.memory_bytes(tmp_path, own) == GIB


def test_a_limit_of_an_older_control_group_counts(tmp_path: Path) -> None:
    own = a_group(tmp_path, "5:cpu:/\n4:memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": f"{GIB}\n"})
    assert settings.memory_bytes(tmp_path, own) == GIB


def test_without_limits_the_machine_counts(tmp_path: Path) -> None:
    assert settings.memory_bytes(tmp_path, tmp_path / "none") > GIB // 8


def test_a_large_machine_is_used_within_bounds_and_a_small_one_is_not_overrun() -> None:
    large, small = settings.for_machine(256 * GIB, GIB), settings.for_machine(GIB // 4, 2**26)
    assert large["shared_buffers"] == "2097152kB"
    assert large["maintenance_work_mem"] == "1048576kB"
    assert large["dynamic_shared_memory_type"] == "posix"
    assert small["shared_buffers"] == "65536kB"
    assert small["work_mem"] == "4096kB"
    assert small["dynamic_shared_memory_type"] == "mmap"


def test_the_settings_reach_the_server_and_what_is_committed_is_on_disk(project: Path) -> None:
    expected = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "listen_addresses": "",
        "jit": "off",
        "max_wal_size": "4GB",
        "checkpoint_timeout": "15min",
        "autovacuum_naptime": "10s",
        "max_connections": "200",
    }
    with postgres.attach(project) as attachment, psycopg.connect(attachment.conninfo) as connection:
        rows = connection.execute("SELECT name, current_setting(name) FROM pg_settings").fetchall()
    assert {name: value for name, value in rows if name in expected} == expected

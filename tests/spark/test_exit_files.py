"""Sockets are forgotten when they are gone; other files that the JVM removes at its end are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.spark.session.factory import forget_removed_files

SOCKETS = "spark.python.unix.domain.socket.dir"


def exit_files() -> set[str]:
    """Return what the JVM removes at its end."""
    gateway: Any = SparkContext._gateway
    field = gateway.jvm.java.lang.Class.forName("java.io.DeleteOnExitHook").getDeclaredField(
        "files"
    )
    field.setAccessible(True)
    return set(gateway.jvm.java.lang.String.join("\n", field.get(None)).splitlines())


def test_removed_sockets_are_forgotten(session: SparkSession, tmp_path: Path) -> None:
    gateway: Any = SparkContext._gateway
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    for path in (kept, removed):
        path.touch()
        gateway.jvm.java.io.File(str(path)).deleteOnExit()
    removed.unlink()
    # The session's own thread may forget in the middle of one try, and not again for minutes.
    assert any(adds_sockets(session) for _ in range(2))
    forget_removed_files(gateway, settle_seconds=0.1)
    left = exit_files()
    assert str(kept) in left
    assert str(removed) not in left
    assert all(Path(name).exists() for name in left)


def adds_sockets(session: SparkSession) -> bool:
    """Return whether three results leave three sockets behind.

    They are in the directory of the first session of the JVM: Spark keeps what it has read of its settings.
    """
    for _ in range(3):
        session.range(3).collect()
    return len([name for name in exit_files() if name.endswith(".sock")]) >= 3


def test_a_session_s_sockets_are_of_its_user_only(session: SparkSession) -> None:
    assert session.conf.get("spark.python.unix.domain.socket.enabled") == "true"
    sockets = Path(session.conf.get(SOCKETS) or "")
    assert sockets.stat().st_mode & 0o077 == 0
    assert list(sockets.glob(".*.sock")), "accumulators"

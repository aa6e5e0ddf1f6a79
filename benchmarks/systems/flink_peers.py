"""Apache Flink as a peer: PyFlink, and the Java DataStream API, from one environment of their own.

`benchmarks/peers/flink/make_environment.sh` creates it; its pins clash with PySpark's, so it cannot
be ours. Without it these peers are left out.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from benchmarks.model.errors import SystemMissingError
from benchmarks.model.program import BenchSystem
from benchmarks.model.shape import BATCH, STREAMING
from benchmarks.systems.launch import PEERS

DIRECTORY_VARIABLE = "PENSTOCK_BENCH_FLINK"
"""Names the environment; by default it is `environment` beside the script that makes it."""

_JAVA_MAIN = "penstock.bench.Bench"

# What Flink's own scripts pass to Java 17; see `bin/config.sh` and `conf/config.yaml` of the wheel.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.io",
    "java.base/java.nio",
    "java.base/java.text",
    "java.base/java.time",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.util.concurrent.locks",
    "java.base/sun.net.util",
)


def environment_directory() -> Path:
    """Return where the environment is, or would be."""
    named = os.environ.get(DIRECTORY_VARIABLE)
    return Path(named) if named else PEERS / "flink" / "environment"


def flink_version() -> str | None:
    """Return the version of Flink in the environment; None if there is none."""
    found = environment_directory().glob("lib/python*/site-packages/apache_flink-*.dist-info")
    return next((path.name.removesuffix(".dist-info").partition("-")[2] for path in found), None)


def pyflink_command(script: str = "pyflink_job.py") -> list[str]:
    """Return the command of a PyFlink peer.

    Args:
        script: The file.

    Raises:
        SystemMissingError: There is no environment.
    """
    return [str(_existing("bin/python")), str(PEERS / "flink" / script)]


def java_command(heap: str = "2g") -> list[str]:
    """Return the command of the Java peer.

    Args:
        heap: Size of the heap of its JVM.

    Raises:
        SystemMissingError: There is no environment, or its Java part was not compiled.
    """
    classes, jars = _existing("penstock-classes"), _existing("jars")
    home = os.environ.get("JAVA_HOME")
    return [
        str(Path(home, "bin", "java")) if home else "java",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
        f"-Xmx{heap}",
        "-cp",
        f"{classes}{os.pathsep}{jars}/*",
        _JAVA_MAIN,
    ]


_PYFLINK_NOTE = (
    "fromSequence and a map make the records. Its Python workers start with every job, so the time "
    "of the same job over one record per subtask is subtracted (both are in the details)."
)
BUNDLES = "python.fn-execution.bundle.size"
"""Records that PyFlink gives to Python at once."""


PYFLINK_KEYS = 100_000
"""With more, most records of the few it gets are the first of their keys: 2 records/ms."""


def pyflink() -> tuple[BenchSystem, ...]:
    """Return PyFlink in process and thread mode, with large bundles; slow, so with fewer records."""
    return tuple(
        BenchSystem(
            name=f"pyflink-{mode}",
            command=pyflink_command,
            is_peer=True,
            mode=STREAMING,
            options={"python.execution-mode": mode, BUNDLES: "100000"},
            max_keys=PYFLINK_KEYS,
            is_slow=True,
            note=f"PyFlink, {mode} mode, state in the heap, bundles of 100,000 (the shipped 1,000 "
            f"make it ten times slower). {_PYFLINK_NOTE}",
        )
        for mode in ("process", "thread")
    )


def pyflink_latency() -> tuple[BenchSystem, ...]:
    """Return PyFlink for `latency`: default settings, process mode unless somebody names thread."""
    return tuple(
        BenchSystem(
            name=f"pyflink-{mode}",
            command=partial(pyflink_command, "latency_pyflink.py"),
            is_peer=True,
            by_default=mode == "process",
            options={"python.execution-mode": mode},
            note=f"PyFlink, {mode} mode, state in the heap, its default bundles (1,000 records or a "
            "second). The events come over a socket; one is out when a Python function behind "
            "the count has it, before the sink.",
        )
        for mode in ("process", "thread")
    )


def flink_java() -> tuple[BenchSystem, ...]:
    """Return Flink's Java DataStream API: BATCH, STREAMING with RocksDB, and with the heap."""
    return (
        _java("flink-java-batch", BATCH, "hashmap", by_default=True),
        _java("flink-java-rocksdb", STREAMING, "rocksdb", by_default=True),
        _java("flink-java-heap", STREAMING, "hashmap", by_default=False),
    )


def flink_live_state() -> BenchSystem:
    """Return the Java API for `live-state`, with RocksDB."""
    return BenchSystem(
        name="flink-java-rocksdb",
        command=java_command,
        is_peer=True,
        by_default=False,
        options={"state.backend.type": "rocksdb"},
        note="Flink's Java DataStream API: KeyedProcessFunction with a ValueState in RocksDB, one call and one output row per "
        "record. It computes the records, which costs less than reading files, and makes no checkpoints.",
    )


def _java(name: str, mode: str, backend: str, *, by_default: bool) -> BenchSystem:
    return BenchSystem(
        name=name,
        command=java_command,
        is_peer=True,
        by_default=by_default,
        mode=mode,
        options={"state.backend.type": backend},
        note=f"Flink's Java DataStream API, the same program without Python; {mode}, state backend "
        f"{backend}; one mini cluster in a JVM of 2 GB that stays warm between jobs.",
    )


def _existing(part: str) -> Path:
    found = environment_directory() / part
    if not found.exists():
        raise SystemMissingError(
            f"there is no Flink environment: {found} is missing",
            hint="Run benchmarks/peers/flink/make_environment.sh, or name one that exists by "
            f"{DIRECTORY_VARIABLE}.",
        )
    return found

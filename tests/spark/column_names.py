"""Names of columns that mean something to Spark, to SQL, to a shell or to a file format."""

from __future__ import annotations

NAMES = (
    "a.b",  # beside a struct `a` with a field `b`, which Spark would read instead
    "a",
    "*",
    "`",
    "a`b",
    "`a`",
    "_metadata",
    "_metadata.file_path",
    "x:y",
    "new\nline",
    'q"q',
    "it's",
    "\U0001f600",
    "e\u0301",  # not the same as the next one, though it looks so
    "\u00e9",
    "select",
    "two words",
    " lead",
    "1st",
    "",
    "..",
    "A.",
    "x,y",
    "x;y",
    "{x}",
    "(x)",
    "x=y",
    "tab\tbed",
    "x\\y",
    "#c",
    "%41",
    "_c0",
    "c0",
    "c1",
    "value",
    "route",
    "_corrupt_record",
    "names",
    "class",
)

IN_CSV = tuple(name for name in NAMES if name not in {"", "new\nline"})
"""Names a header can hold: those of one line, and not empty."""

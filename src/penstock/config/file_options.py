"""Options of files that are read."""

from __future__ import annotations

from typing import Any

from penstock.config.option import ConfigOption, one_of
from penstock.config.parse import Parser

MISSING_COLUMNS: ConfigOption[str] = ConfigOption(
    key="source.files.missing-columns",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="warn",
    description=(
        "What happens if no file of a source has a declared column, which is None in every record then: `warn` once, "
        "`error` or `ignore`. The first hundred files are looked at, of JSON their beginning."
    ),
    check=one_of("warn", "error", "ignore"),
)

FILE_OPTIONS: tuple[ConfigOption[Any], ...] = (MISSING_COLUMNS,)
"""All of them."""

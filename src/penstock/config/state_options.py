"""Options of the format of stored state."""

from __future__ import annotations

from typing import Any

from penstock.config.option import ConfigOption, one_of
from penstock.config.parse import BOOLEAN, STRING

# CodedRowData, rule 5.
ENABLE_CODED_ROWDATA: ConfigOption[bool] = ConfigOption(
    key="table.exec.enable-coded-rowdata",
    parse=BOOLEAN,
    default=False,
    description=(
        "Whether values of declared row, tuple and map types are stored as coded rows: fields "
        "behind tags, with numbers of variable length. It changes the size of state and the time "
        "it takes, never the result. State written either way is read, and rewritten as it changes."
    ),
)

STATE_COMPRESSION: ConfigOption[str] = ConfigOption(
    key="state.compression",
    parse=STRING,
    default="none",
    description=(
        "How change logs and snapshots of state are compressed: `none`, `lz4` or `zstd`. State "
        "written any way is read."
    ),
    check=one_of("none", "lz4", "zstd"),
)

STATE_OPTIONS: tuple[ConfigOption[Any], ...] = (ENABLE_CODED_ROWDATA, STATE_COMPRESSION)

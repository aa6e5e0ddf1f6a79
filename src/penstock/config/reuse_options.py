"""Options of record objects that chained operators share."""

from __future__ import annotations

from typing import Any

from penstock.config.option import ConfigOption
from penstock.config.parse import BOOLEAN

OBJECT_REUSE: ConfigOption[bool] = ConfigOption(
    key="pipeline.object-reuse",
    parse=BOOLEAN,
    default=False,
    description=(
        "Whether operators of one task may always share records. With true nothing is copied, and "
        "the program answers for it that no function changes a record that another one, or itself "
        "later, still looks at. With false records are copied where attributes of operators and "
        "functions do not rule that out (FLIP-329), which changes the speed, never the result."
    ),
)

VERIFY_OBJECT_REUSE: ConfigOption[bool] = ConfigOption(
    key="pipeline.object-reuse.verify",
    parse=BOOLEAN,
    default=False,
    description=(
        "Whether it is checked that functions which promise not to use emitted values again keep "
        "the promise. A function that does not is named in an error. For tests: every record is "
        "pickled several times."
    ),
)

REUSE_OPTIONS: tuple[ConfigOption[Any], ...] = (OBJECT_REUSE, VERIFY_OBJECT_REUSE)

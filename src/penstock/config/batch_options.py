"""Options about batch runs."""

from __future__ import annotations

from typing import Any

from penstock.config.option import ConfigOption
from penstock.config.parse import BOOLEAN

BATCH_COMBINE: ConfigOption[bool] = ConfigOption(
    key="execution.batch.combine",
    parse=BOOLEAN,
    default=True,
    description=(
        "Whether a batch run combines the records of a key before it exchanges them, where only "
        "the last result of a key or window is asked for and the function is known to be "
        "associative, and commutative where records have timestamps. It changes the speed, never "
        "the result. A task uses up to `execution.sorted-inputs.memory` for it; once that is used "
        "up, it stops combining unless records became half as many or fewer."
    ),
)

BATCH_EXPRESSIONS: ConfigOption[bool] = ConfigOption(
    key="execution.batch.expressions",
    parse=BOOLEAN,
    default=True,
    description=(
        "Whether Spark SQL computes expressions of columns that directly follow a DataFrame or files of "
        "columns (Parquet, ORC, Avro) in a batch run, before records are made of them. Otherwise workers "
        "compute them, as everywhere else. It changes the speed, never the result."
    ),
)

BATCH_QUERIES: ConfigOption[bool] = ConfigOption(
    key="execution.batch.queries",
    parse=BOOLEAN,
    default=True,
    description=(
        "Whether Spark SQL computes whole queries of SQL in a batch job: joins, groups, windows and first rows of a "
        "DataFrame or files of columns, if all that is in a query has the same meaning there. Otherwise operators "
        "compute them, as everywhere else. It changes the speed, never the rows."
    ),
)

BATCH_OPTIONS: tuple[ConfigOption[Any], ...] = (BATCH_COMBINE, BATCH_EXPRESSIONS, BATCH_QUERIES)
"""The options of this module, in the order of the reference page."""

"""Facts about the part before a switch: read by Spark SQL from files and DataFrames, in Python otherwise."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import TimestampType

from penstock.connectors.spark_source import by_position, chosen, column_name
from penstock.errors import CallSite, SourceError
from penstock.graph.source import Source
from penstock.graph.source_switch import (
    SourceSwitch,
    SwitchColumns,
    batches_of,
    checked_switch,
    milliseconds,
    no_column,
    no_time,
    switch_after,
)
from penstock.spark.failures.translation import translate
from penstock.spark.sources.file_reads import rows_of_pinned
from penstock.spark.sources.line_reads import columns_of
from penstock.spark.sources.source_row import PinnedPart
from penstock.spark.sources.table import files_of

if TYPE_CHECKING:
    from penstock.connectors.spark_source import SparkSource


def switch_behind(
    session: SparkSession,
    part: Source,
    pinned: PinnedPart,
    needed: SwitchColumns,
    origin: CallSite | None,
) -> SourceSwitch:
    """Return the switch behind a part, whose input is pinned."""
    described = part.describe()
    positioned = part.as_split
    if positioned is not None:
        batches = batches_of(positioned, pinned.splits or (), pinned.names)
        return switch_after(batches, needed, described, origin)
    if needed.timestamp is None and needed.position is None:
        raise no_time(described, origin)
    files = files_of(part)
    if files is not None and pinned.files is not None:
        read = rows_of_pinned(session, files, pinned.files)
        rows = columns_of(read, files, origin, only=needed.names)
    else:
        rows = cast("SparkSource", part).dataframe  # all others have files or positions
    try:
        return _of_rows(rows, needed, described, origin)
    except SourceError:
        raise
    except Exception as cause:
        doing = f"finding the end of {described}"
        raise SourceError(
            translate(cause, doing).problem,
            hint="Correct the columns that add_source(…) names, or the files.",
            origin=origin,
        ) from cause


def _of_rows(
    rows: DataFrame, needed: SwitchColumns, described: str, origin: CallSite | None
) -> SourceSwitch:
    names = needed.names
    for name in names:
        if name not in rows.columns:
            raise no_column(name, described, origin)
    picked = by_position(chosen(rows, names))
    columns = {name: sf.col(column_name(index)) for index, name in enumerate(names)}
    latest, positions = None, {}
    if needed.timestamp is not None:
        greatest = sf.max(columns[needed.timestamp])
        is_zoned = isinstance(rows.schema[needed.timestamp].dataType, TimestampType)
        ((latest_time,),) = picked.agg(sf.unix_millis(greatest) if is_zoned else greatest).collect()
        latest = milliseconds(latest_time)
    if needed.position is not None:
        split = sf.lit(0) if needed.split is None else columns[needed.split]
        ends = picked.groupBy(split.alias("split")).agg(sf.max(columns[needed.position])).collect()
        positions = {
            _whole(of): _whole(end) for of, end in ends if of is not None and end is not None
        }
    return checked_switch(latest, positions, needed, described, origin)


def _whole(value: Any) -> Any:
    """Return a decimal without a fraction, which a big integer is in a column, as a number."""
    return int(value) if isinstance(value, Decimal) and value == value.to_integral() else value

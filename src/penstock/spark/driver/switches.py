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
    asks: SwitchColumns,
    origin: CallSite | None,
) -> SourceSwitch:
    """Return the switch behind a part, whose input is pinned."""
    described = part.describe()
    positioned = part.as_split
    if positioned is not None:
        batches = batches_of(positioned, pinned.splits or (), pinned.names)
        return switch_after(batches, asks, described, origin)
    if asks.timestamp is None and asks.position is None:
        raise no_time(described, origin)
    files = files_of(part)
    if files is not None and pinned.files is not None:
        read = rows_of_pinned(session, files, pinned.files)
        rows = columns_of(read, files, origin, only=asks.names)
    else:
        rows = cast("SparkSource", part).dataframe  # all others have files or positions
    try:
        return _of_rows(rows, asks, described, origin)
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
    rows: DataFrame, asks: SwitchColumns, described: str, origin: CallSite | None
) -> SourceSwitch:
    wanted = asks.names
    for name in wanted:
        if name not in rows.columns:
            raise no_column(name, described, origin)
    picked = by_position(chosen(rows, wanted))
    columns = {name: sf.col(column_name(at)) for at, name in enumerate(wanted)}
    latest, positions = None, {}
    if asks.timestamp is not None:
        greatest = sf.max(columns[asks.timestamp])
        is_zoned = isinstance(rows.schema[asks.timestamp].dataType, TimestampType)
        ((found,),) = picked.agg(sf.unix_millis(greatest) if is_zoned else greatest).collect()
        latest = milliseconds(found)
    if asks.position is not None:
        split = sf.lit(0) if asks.split is None else columns[asks.split]
        found = picked.groupBy(split.alias("split")).agg(sf.max(columns[asks.position])).collect()
        positions = {
            _whole(of): _whole(at) for of, at in found if of is not None and at is not None
        }
    return checked_switch(latest, positions, asks, described, origin)


def _whole(found: Any) -> Any:
    """Return a decimal without a fraction, which a big integer is in a column, as a number."""
    return int(found) if isinstance(found, Decimal) and found == found.to_integral() else found

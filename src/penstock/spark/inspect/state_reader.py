"""State as a table: `read_state` and `read_state_names`, exported by `penstock.inspection`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from penstock.filesystem.stored_path import JobPath
from penstock.spark.inspect.checkpoint_state import blob_rows, grouped, reading
from penstock.spark.inspect.state_columns import (
    EntryBatches,
    EntryColumn,
    entry_columns,
    kinds_of,
)
from penstock.spark.inspect.state_location import StateLocation, locate_state
from penstock.spark.inspect.state_surveys import (
    Names,
    StateSurvey,
    chosen_state,
    key_types,
    name_rows,
    surveyed,
)
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.spark.session.factory import get_state_session
from penstock.spark.session.settings import object_settings
from penstock.spark.worker.state_tasks import (
    COUNT_DDL,
    SURVEY_DDL,
    ReplayGroups,
    Survey,
    count_rows,
)
from penstock.state.replay import GroupReplay

NAMES_DDL = (
    "uid STRING, name STRING, kind STRING, type STRING, ttl BOOLEAN, entries LONG, keys LONG, "
    "bytes LONG"
)


def read_state(path: str | Path, uid: str, name: str, *, as_text: bool = False) -> DataFrame:
    """Return the entries of one state of a checkpoint directory or savepoint.

    The values are unpickled, which runs code: only open what your own jobs wrote. The Spark
    session is the active one, or a local one is made.

    Args:
        path: Checkpoint directory of a job, running or not, or a savepoint.
        uid: Of the operator.
        name: Of the state: the one its descriptor has.
        as_text: Whether keys and values are text whatever their type.

    Returns:
        One row per entry as of the last committed micro-batch, or the last complete batch run.
        The columns are `key`, `value` and `key_group`; of a list with `list_index`, of a map
        with `map_key`, of timers `key`, `timestamp_ms` and `key_group`, of broadcast state
        `map_key` and `value`; with a time-to-live also `last_access_ms`. Declared types have
        their column type. What nobody declared is text: JSON, or `repr` if there is none. Keys
        have a column type if all are str, int, float, bool, bytes or date. Values that have
        outlived their time-to-live and are not removed yet are there.

    Raises:
        JobDirectoryError: It is neither of both, or a record in it is damaged.
        SavepointError: It is a savepoint with a damaged manifest.
        StateError: There is no such state, or it is damaged, or a class of a stored value
            cannot be imported.
    """
    session = get_state_session()
    directory = checkpoint_path(path, object_settings(session))
    with reading(directory):
        location = locate_state(directory)
        found = find_state(session, directory, location, uid, name)
        blobs = blob_rows(session, location, uid)
    schema = found.schema(uid, name)
    columns = entry_columns(schema, *key_types(found), as_text=as_text)
    entries = _Visit(EntryBatches(uid, name, schema, columns))
    return grouped(blobs).mapInArrow(ReplayGroups(entries), spark_schema(columns))


def read_state_names(path: str | Path) -> DataFrame:
    """Return the states of a checkpoint directory or savepoint that have entries.

    Args:
        path: As for `read_state`.

    Returns:
        Rows (uid, name, kind, type, ttl, entries, keys, bytes), sorted: `type` is that of
        values, behind that of map keys, or that of timestamps; `ttl` whether it has a
        time-to-live; `bytes` the size in a snapshot. Broadcast state counts no keys.

    Raises:
        JobDirectoryError: It is neither of both, or a record in it is damaged.
        SavepointError: It is a savepoint with a damaged manifest.
        StateError: The state is damaged, or a class of a stored value cannot be imported.
    """
    session = get_state_session()
    directory = checkpoint_path(path, object_settings(session))
    with reading(directory):
        blobs = grouped(blob_rows(session, locate_state(directory)))
        counted = blobs.mapInArrow(ReplayGroups(count_rows), COUNT_DDL).collect()
    return session.createDataFrame(name_rows(counted), NAMES_DDL)


def find_state(
    session: SparkSession, directory: JobPath, location: StateLocation, uid: str, name: str
) -> StateSurvey:
    """Return the survey of one state.

    Raises:
        StateError: There is no such operator or state; the error names the existing ones.
    """

    def uids() -> Names:
        rows = blob_rows(session, location).select("operator").distinct().collect()
        return [row[0] for row in rows]

    return chosen_state(survey(session, location, uid), directory, uid, name, uids)


def survey(
    session: SparkSession, location: StateLocation, uid: str | None = None
) -> dict[tuple[str, str], StateSurvey]:
    """Return (uid, name) to survey of all states; it runs a Spark job."""
    rows = blob_rows(session, location, uid).mapInArrow(Survey(kinds_of), SURVEY_DDL)
    return surveyed(rows.distinct().collect())


def spark_schema(columns: Iterable[EntryColumn]) -> StructType:
    """Return the columns as Spark types."""
    return StructType(
        [StructField(c.name, from_arrow_type(c.arrow, prefer_timestamp_ntz=True)) for c in columns]
    )


@dataclass(frozen=True, slots=True)
class _Visit:
    """Adapts `EntryBatches` to a `Visit` of `ReplayGroups`."""

    entries: EntryBatches

    def __call__(
        self, operator: str, key_group: int, replayed: GroupReplay
    ) -> Iterator[pa.RecordBatch]:
        return self.entries(key_group, replayed)

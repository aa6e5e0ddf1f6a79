"""State as a table: `read_state` and `read_state_names`, exported by `penstock.inspection`.

Sums of surveys and counts of state: all states, and the requested one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.inspect.state_columns import (
    EntryBatches,
    EntryColumn,
    entry_columns,
    kinds_of,
    newest_schema,
    type_of_kinds,
)
from penstock.spark.inspect.state_location import (
    StateLocation,
    blob_rows,
    grouped,
    locate_state,
    reading,
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
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import TypeInformation

Names = Collection[str]
Row = Iterable[Any]


@dataclass(slots=True)
class StateSurvey:
    """The schemas and kinds of keys in the blobs of one state."""

    schemas: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    subkeys: set[str] = field(default_factory=set)

    def schema(self, uid: str, name: str) -> StateSchema:
        """Return the schema with which entries of all others can be read."""
        return newest_schema(self.schemas, f"state {name!r} of operator {uid!r}")


def surveyed(rows: Iterable[Row]) -> dict[tuple[str, str], StateSurvey]:
    """Return (uid, name) to survey of all states."""
    surveys: dict[tuple[str, str], StateSurvey] = {}
    for operator, state, text, part, kind in rows:
        of_state = surveys.setdefault((operator, state), StateSurvey())
        of_state.schemas.add(text)
        if part != "schema":
            (of_state.keys if part == "key" else of_state.subkeys).add(kind)
    return surveys


def chosen_state(
    surveys: dict[tuple[str, str], StateSurvey],
    directory: JobPath,
    uid: str,
    name: str,
    uids: Callable[[], Names],
) -> StateSurvey:
    """Return the survey of one state."""
    if not surveys:
        raise StateError(
            f"{directory} has no state of an operator {uid!r}",
            hint=_known("the uids", uids()),
        )
    if (uid, name) not in surveys:
        raise StateError(
            f"operator {uid!r} has no state {name!r} in {directory}",
            hint=_known("its states", (state for _, state in surveys)),
        )
    return surveys[uid, name]


def key_types(survey: StateSurvey) -> tuple[TypeInformation | None, TypeInformation | None]:
    """Return the types of the columns of keys and subkeys; None means text."""
    return type_of_kinds(survey.keys), type_of_kinds(survey.subkeys)


def name_rows(counted: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Return rows of `NAMES_DDL`, sorted."""
    texts: dict[tuple[str, str], set[str]] = {}
    totals: dict[tuple[str, str], list[int]] = {}
    for uid, name, text, *counts in counted:
        texts.setdefault((uid, name), set()).add(text)
        sums = totals.setdefault((uid, name), [0, 0, 0])
        for index, count in enumerate(counts):
            sums[index] += count
    rows = []
    for (uid, name), sums in sorted(totals.items()):
        schema = newest_schema(texts[uid, name], f"state {name!r} of operator {uid!r}")
        rows.append((uid, name, schema.kind.value, type_text(schema), schema.has_ttl, *sums))
    return rows


def type_text(schema: StateSchema) -> str:
    """Return the types of a state for people."""
    if schema.kind is StateKind.TIMERS:
        return repr(schema.subkey_type)
    value = repr(schema.value_type)
    return value if schema.subkey_type is None else f"{schema.subkey_type!r} -> {value}"


def _known(what: str, names: Iterable[str]) -> str:
    known = ", ".join(sorted(set(names)))
    return f"Use one of {what} there are: {known}." if known else "There is no state at all."


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
        uid: Uid of the operator.
        name: Name of the state in its descriptor.
        as_text: True if keys and values are text whatever their type.

    Returns:
        One row per entry as of the last committed micro-batch, or the last complete batch run.
        The columns are `key`, `value` and `key_group`; of a list with `list_index`, of a map
        with `map_key`, of timers `key`, `timestamp_ms` and `key_group`, of broadcast state
        `map_key` and `value`; with a time-to-live also `last_access_ms`. Declared types have
        their column type. Values without declared type are text: JSON, or `repr` if there is none. Keys
        have a column type if all are str, int, float, bool, bytes or date. Expired values that are
        not removed yet are included.

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
        state_survey = find_state(session, directory, location, uid, name)
        blobs = blob_rows(session, location, uid)
    schema = state_survey.schema(uid, name)
    columns = entry_columns(schema, *key_types(state_survey), as_text=as_text)
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
    """Return the survey of one state."""

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

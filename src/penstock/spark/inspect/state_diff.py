"""The differences between the states of two checkpoints or savepoints."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.inspect.state_columns import (
    entries_of,
    json_or_none,
    newest_schema,
    safe_repr,
    value_text,
)
from penstock.spark.inspect.state_location import blob_rows, grouped, locate_state, reading
from penstock.spark.inspect.state_reader import survey
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.spark.session.factory import get_state_session
from penstock.spark.session.settings import object_settings
from penstock.spark.worker.state_tasks import ReplayGroups, batches_of
from penstock.state.replay import GroupReplay
from penstock.state.schema.entry_schema import StateSchema

TEXT_SCHEMA = pa.schema(
    [pa.field(name, pa.string()) for name in ("uid", "name", "key", "subkey", "value", "same")]
)
TEXT_DDL = "uid STRING, name STRING, key STRING, subkey STRING, value STRING, same STRING"

_ENTRY = ("uid", "name", "key", "subkey")
Address = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StateChange:
    """The difference of one state.

    Attributes:
        before: Number of entries in the first directory.
        after: Number of entries in the second directory.
        added: Number of entries that only the second has.
        changed: Number of entries with another value.
    """

    uid: str
    name: str
    before: int
    after: int
    added: int
    removed: int
    changed: int


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One entry that differs, as text.

    Attributes:
        key: Its key; None for broadcast state.
        subkey: Map key, list index or timestamp; None for other kinds.
        before: Its value in the first directory; None if it is missing there.
        after: Its value in the second directory; None if it is missing there.
    """

    uid: str
    name: str
    key: str | None
    subkey: str | None
    before: str | None
    after: str | None


def state_differences(
    first: str | Path,
    second: str | Path,
    uid: str | None = None,
    name: str | None = None,
    limit: int = 5,
) -> tuple[list[StateChange], list[EntryChange]]:
    """Compare the entries of two checkpoint directories or savepoints.

    Entries with equal values are equal: time of access and stored type do not count. A value without
    JSON is changed if its pickle is.
    The values are unpickled, which runs code: only open what your own jobs wrote.
    """
    session = get_state_session()
    settings = object_settings(session)
    paths = [checkpoint_path(first, settings), checkpoint_path(second, settings)]
    before, after = (_texts(session, path, uid, name) for path in paths)
    joined = _joined(before, after)
    with reading(paths[1]), reading(paths[0]):
        changes = [StateChange(*row) for row in _counted(joined).collect()]
        if not changes and (uid is not None or name is not None):
            subject = f"state {name!r} of operator {uid!r}" if name else f"operator {uid!r}"
            raise StateError(
                f"neither {paths[0]} nor {paths[1]} has entries of {subject}",
                hint="List what there is with `penstock state ls`.",
            )
        entries = [EntryChange(*row) for row in _first(joined, limit).collect()]
    return changes, entries


def _texts(
    session: SparkSession, directory: JobPath, uid: str | None, name: str | None
) -> DataFrame:
    """Return the entries of a directory in rows of `TEXT_DDL`."""
    with reading(directory):
        location = locate_state(directory)
        surveys = survey(session, location, uid)
        blobs = blob_rows(session, location, uid)
    schemas = {
        (of, state): newest_schema(state_survey.schemas, f"state {state!r} of operator {of!r}")
        for (of, state), state_survey in surveys.items()
        if name in {None, state}
    }
    return grouped(blobs).mapInArrow(ReplayGroups(_EntryTexts(schemas)), TEXT_DDL)


def _joined(before: DataFrame, after: DataFrame) -> DataFrame:
    left, right = before.alias("a"), after.alias("b")
    same = [sf.col(f"a.{column}").eqNullSafe(sf.col(f"b.{column}")) for column in _ENTRY]
    condition = same[0]
    for equality in same[1:]:
        condition &= equality
    here = [
        # An added or removed entry has no row on one side; the columns of that side are ignored.
        sf.when(sf.col("b.same").isNull(), sf.col(f"a.{column}"))
        .otherwise(sf.col(f"b.{column}"))
        .alias(column)
        for column in _ENTRY
    ]
    change = (
        sf.when(sf.col("a.same").isNull(), "added")
        .when(sf.col("b.same").isNull(), "removed")
        .when(sf.col("a.same") != sf.col("b.same"), "changed")
        .otherwise("same")
    )
    return left.join(right, condition, "full").select(
        *here,
        sf.col("a.value").alias("before"),
        sf.col("b.value").alias("after"),
        change.alias("change"),
    )


def _counted(joined: DataFrame) -> DataFrame:
    def count(*changes: str) -> Any:
        return sf.count_if(sf.col("change").isin(*changes))

    return (
        joined.groupBy("uid", "name")
        .agg(
            count("same", "changed", "removed").alias("before"),
            count("same", "changed", "added").alias("after"),
            count("added").alias("added"),
            count("removed").alias("removed"),
            count("changed").alias("changed"),
        )
        .orderBy("uid", "name")
    )


def _first(joined: DataFrame, limit: int) -> DataFrame:
    order = Window.partitionBy("uid", "name").orderBy("key", "subkey")
    return (
        joined.where(sf.col("change") != "same")
        .withColumn("position", sf.row_number().over(order))
        .where(sf.col("position") <= limit)
        .orderBy("uid", "name", "position")
        .select(*_ENTRY, "before", "after")
    )


@dataclass(frozen=True, slots=True)
class _EntryTexts:
    """Makes rows of `TEXT_SCHEMA`. A visit of `ReplayGroups`."""

    schemas: dict[Address, StateSchema]

    def __call__(
        self, operator: str, key_group: int, replayed: GroupReplay
    ) -> Iterator[pa.RecordBatch]:
        return batches_of(TEXT_SCHEMA, self._rows(operator, key_group, replayed))

    def _rows(
        self, operator: str, key_group: int, replayed: GroupReplay
    ) -> Iterator[tuple[str | None, ...]]:
        sections = list(replayed.sections())
        for state in dict.fromkeys(section.state for section in sections):
            schema = self.schemas.get((operator, state))
            if schema is None:
                continue
            subject = f"state {state!r} of operator {operator!r}"
            of_state = [section for section in sections if section.state == state]
            entries = entries_of(of_state, schema, subject)
            subkeys = entries.subkeys or [None] * len(entries.keys)
            for key, subkey, value in zip(entries.keys, subkeys, entries.values, strict=True):
                yield (
                    operator,
                    state,
                    None if key_group < 0 else value_text(key),
                    value_text(subkey) if schema.kind.is_nested else None,
                    *_text_and_identity(value),
                )


def _text_and_identity(value: Any) -> tuple[str, str]:
    """Return the text of a value, and a string that is equal for equal values."""
    text = json_or_none(value)
    if text is not None:
        return text, text
    # Pickled twice, because a new value may share objects that an unpickled one does not.
    data = pickle.dumps(pickle.loads(pickle.dumps(value, 5)), 5)
    return safe_repr(value), hashlib.sha256(data).hexdigest()

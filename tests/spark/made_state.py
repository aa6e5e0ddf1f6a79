"""State written by hand, as a savepoint or as one file of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.spark.worker.sink_task import STATE_SCHEMA
from penstock.state.log.blob import Section, encode_blobs
from penstock.state.savepoint import Savepoint, copy_state, prepare_directory, write_manifest
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.types import TypeInformation


def section(state: str, schema: StateSchema, *entries: tuple[Any, ...]) -> Section:
    """Return a section of (key, value) or (key, subkey, value)."""
    nested = schema.kind.is_nested
    return Section(
        state,
        schema.text(),
        [entry[0] for entry in entries],
        [entry[1] for entry in entries] if nested else None,
        [entry[-1] for entry in entries],
        removed_subkeys=[] if nested else None,
    )


def write_state(path: Path, *parts: tuple[str, int, list[Section]]) -> Path:
    """Write the state of (operator, key group, sections) as one file of snapshot rows."""
    rows = [
        (operator, group if group < BROADCAST_GROUP else -1, blob)
        for operator, group, sections in parts
        for blob in encode_blobs(operator, group, sections)
    ]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, f.type) for column, f in zip(columns, STATE_SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=STATE_SCHEMA)
    pq.write_table(table, path, compression="lz4", row_group_size=2)
    return path


def make_savepoint(path: Path, *parts: tuple[str, int, list[Section]]) -> Path:
    """Make a savepoint of (operator, key group, sections)."""
    file = write_state(path.with_suffix(".parquet"), *parts)
    prepare_directory(path)
    files = copy_state([file], path)
    write_manifest(path, Savepoint("1", "now", "j", "job", "live", 2, 128, files=files))
    return path


def of(
    kind: StateKind,
    value: TypeInformation,
    subkey: TypeInformation | None = None,
    *,
    ttl: bool = False,
) -> StateSchema:
    """Return a schema."""
    return StateSchema(kind, value, subkey, ttl)

"""The types that a Delta table can hold, checked when the sink is attached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.errors import CallSite, GraphError
from penstock.types.arrow import arrow_schema
from penstock.types.information import TypeInformation

_REFUSED_CHARACTERS = frozenset(" ,;{}()\n\t=")
"""Characters refused in names of columns without column mapping."""

_CONSTRAINT = "delta.constraints."
_RULES_OF_A_COLUMN = ("delta.invariants", "delta.generationExpression", "delta.identity.")

_PARTITIONED_BY: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
)


def table_schema(
    type_info: TypeInformation,
    partition_by: Sequence[str],
    keys: Sequence[str],
    origin: CallSite | None,
) -> pa.Schema:
    """Return the columns of a table of records.

    Raises:
        GraphError: A Delta table cannot hold them.
    """
    SPECS[FileFormat.PARQUET].check(type_info, origin)
    schema = arrow_schema(type_info)
    for problem, hint in (*_of_columns(schema), *_of_choice(schema, partition_by, keys)):
        raise GraphError(
            f"a Delta table cannot hold {type_info!r}: {problem}", hint=hint, origin=origin
        )
    return schema


def _of_columns(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    rename = "Name the field with letters, digits and underscores."
    lower = [name.lower() for name in schema.names]
    for name in schema.names:
        if _REFUSED_CHARACTERS & set(name) or not name:
            yield f"a column cannot be called {name!r}", rename
        if lower.count(name.lower()) > 1:
            yield f"the name {name!r} differs from another one by case only", rename
    for field in schema:
        if _has_time(field.type):
            yield (
                f"field {field.name!r} has a time of day, which Delta does not have",
                "Map it to a string, or to a timestamp.",
            )


def _of_choice(
    schema: pa.Schema, partition_by: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[str, str]]:
    unknown = [name for name in (*partition_by, *keys) if name not in schema.names]
    if unknown:
        yield f"there is no field {unknown[0]!r}", f"Name one of {', '.join(schema.names)}."
        return
    for name in partition_by:
        if not any(holds(schema.field(name).type) for holds in _PARTITIONED_BY):
            yield (
                f"it cannot be partitioned by {name!r} of type {schema.field(name).type}",
                "Partition by strings, integers, booleans or dates.",
            )
    if len(partition_by) == len(schema):
        yield "every column is one of the partition", "Leave one out."
    for name in keys:
        if pa.types.is_nested(schema.field(name).type):
            yield f"the key {name!r} is {schema.field(name).type}", "Merge by simple values."


def _has_time(arrow: pa.DataType) -> bool:
    if pa.types.is_nested(arrow):
        return any(_has_time(arrow.field(n).type) for n in range(arrow.num_fields))
    return bool(pa.types.is_time(arrow))


def unkept_rules(table: Any) -> list[str]:
    """Return the rules of a table that nobody checks in files that are appended as they are.

    The library checks what it writes itself, such as a merge, and takes files that it is given.
    """
    configuration = table.metadata().configuration
    found = [
        f"it has the constraint {key.removeprefix(_CONSTRAINT)!r}"
        for key in configuration
        if key.startswith(_CONSTRAINT)
    ]
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        found.append("it maps columns to other names")
    for field in table.schema().fields:
        if not field.nullable:
            found.append(f"its column {field.name!r} must not be null")
        if any(key.startswith(_RULES_OF_A_COLUMN) for key in field.metadata):
            found.append(f"its column {field.name!r} is checked or computed")
    return found

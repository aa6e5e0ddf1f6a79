"""Records divided by the values of columns, and the directories of these values: `country=DE/day=2026-01-31`.

The columns are in the path and not in the files, as Hive and Spark have them. A null has the directory
`__HIVE_DEFAULT_PARTITION__`. Everything that a file system or a reader could take for something else is escaped
here, as Spark does it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from penstock.errors import CallSite, GraphError, SinkError
from penstock.types import BasicTypeInfo, RowTypeInfo, TypeInformation
from penstock.types.arrow import arrow_columns, arrow_schema, field_lists
from penstock.types.infer import described

_ESCAPED = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{}\\[\\]^]")
_NULL = "__HIVE_DEFAULT_PARTITION__"
_TYPES = frozenset({"String", "Boolean", "Byte", "Short", "Integer", "Long", "SqlDate"})
"""Names of the basic types by which records may be divided."""


@dataclass(frozen=True, slots=True)
class Division:
    """Division of the records of a type.

    Attributes:
        inside: Type of what is in the files.
        columns: The columns in the path.
    """

    whole: RowTypeInfo
    inside: RowTypeInfo
    columns: tuple[str, ...]

    def divided(self, values: Sequence[Any], origin: CallSite | None) -> dict[str, list[list[Any]]]:
        """Return bucket to the fields of its records that are in its file."""
        names = self.whole.field_names
        chosen = [names.index(name) for name in self.columns]
        inside = [names.index(name) for name in self.inside.field_names]
        lists = field_lists(self.whole, values)
        types = RowTypeInfo([self.whole.field_types[n] for n in chosen], list(self.columns))
        keys = arrow_columns(types, [[fields[n] for n in chosen] for fields in lists])
        grouped: dict[tuple[Any, ...], list[list[Any]]] = {}
        for key, fields in zip(
            zip(*(key.to_pylist() for key in keys), strict=True), lists, strict=True
        ):
            grouped.setdefault(key, []).append([fields[n] for n in inside])
        buckets: dict[str, list[list[Any]]] = {}
        for key, rows in grouped.items():  # a null and the text that stands for it are one bucket
            buckets.setdefault(bucket_of(self.columns, key, origin), []).extend(rows)
        return buckets

    def divided_columns(
        self, batch: pa.RecordBatch, origin: CallSite | None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield a bucket with the columns of its rows that are in its file, in order of its first row."""
        chosen = [batch.column(name) for name in self.columns]
        inside = batch.select(self.inside.field_names)
        groups = np.zeros(batch.num_rows, np.int64)
        for column in chosen:
            encoded = column.dictionary_encode("encode")
            codes = groups * len(encoded.dictionary) + encoded.indices.to_numpy()
            _, groups = np.unique(codes, return_inverse=True)
        by_group = np.argsort(groups, kind="stable")
        parts = np.split(by_group, np.cumsum(np.bincount(groups))[:-1])
        buckets: dict[str, list[Any]] = {}
        for rows in sorted(parts, key=operator.itemgetter(0)):
            key = [column[int(rows[0])].as_py() for column in chosen]
            buckets.setdefault(bucket_of(self.columns, key, origin), []).append(rows)
        # The text of the directory of NULL is a value, too, and has the same directory.
        for bucket, blocks in buckets.items():
            rows = blocks[0] if len(blocks) == 1 else np.sort(np.concatenate(blocks))
            yield bucket, inside.take(pa.array(rows))


def division_of(
    type_info: TypeInformation, columns: tuple[str, ...], origin: CallSite | None
) -> Division:
    """Return the division of records of a type by columns."""
    whole = described(type_info)
    if not isinstance(whole, RowTypeInfo):
        raise _refused(type_info, columns, "it is no row with named fields", origin)
    arrow_schema(whole)
    for name in columns:
        if name not in whole.field_names:
            raise _refused(type_info, columns, f"there is no field {name!r}", origin)
        field = whole.field_types[whole.field_names.index(name)]
        if not isinstance(field, BasicTypeInfo) or field.name not in _TYPES:
            raise _refused(type_info, columns, f"{name!r} is a {field!r}", origin)
    inside = [
        (name, field)
        for name, field in zip(whole.field_names, whole.field_types, strict=True)
        if name not in columns
    ]
    if not inside:
        raise _refused(type_info, columns, "no field is left for the files", origin)
    names, types = zip(*inside, strict=True)
    return Division(whole, RowTypeInfo(list(types), list(names)), columns)


def bucket_of(columns: Sequence[str], key: Sequence[Any], origin: CallSite | None) -> str:
    """Return the directory of values, e.g. `country=DE/day=2026-01-31`."""
    return "/".join(
        f"{_escaped(name)}={_NULL if text is None else _escaped(text)}"
        for name, value in zip(columns, key, strict=True)
        for text in [partition_text(name, value, origin)]
    )


def columns_of_buckets(names: Iterable[str]) -> dict[str, str | None]:
    """Return the columns that the names of directories have, as text.

    Examples:
        >>> columns_of_buckets(["country=DE", "day=__HIVE_DEFAULT_PARTITION__", "2026-01-31--07"])
        {'country': 'DE', 'day': None}
    """
    pairs = (name.partition("=") for name in names if "=" in name)
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}


def partition_text(name: str, value: Any, origin: CallSite | None) -> str | None:
    """Return a value of a partition column as text; None is a null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    if value == "":
        raise SinkError(
            f"a record has an empty string in {name!r}, by which the output is partitioned: readers "
            "would take it for a null",
            hint="Map empty strings to another one, or to None.",
            origin=origin,
        )
    return str(value)


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _refused(
    type_info: TypeInformation, columns: Sequence[str], reason: str, origin: CallSite | None
) -> GraphError:
    return GraphError(
        f"records of type {type_info!r} cannot be divided by {', '.join(columns)}: {reason}",
        hint="Declare a row type whose named fields include these, as strings, integers, booleans or dates.",
        origin=origin,
    )

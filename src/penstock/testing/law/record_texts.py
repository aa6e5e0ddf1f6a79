"""Records of samples as lines: JSON of the declared type, or tagged JSON of values without one.

declared     {"customer": "ann", "amount": 5}
undeclared   {"@tuple": ["ann", 5]}
with time    {"@timestamp": 1700000000000, "@kind": "INSERT", "@value": …}
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from penstock.connectors.kafka.values import KafkaRecord
from penstock.connectors.postgres.values import Change
from penstock.connectors.redis.redis_source import RedisEntry
from penstock.testing.law.samples import Sample, SampleRecord
from penstock.testing.results import same_answer
from penstock.types import PickledBytesTypeInfo, TypeInformation, Types
from penstock.types.row import Row, RowKind, class_of, names_of
from penstock.wire.text import TextError, json_codec

_FIELDS = ("@penstock.timestamp", "@penstock.kind", "@penstock.value")
_STAMPED = re.compile(rf'\s*\{{\s*"{_FIELDS[0]}"')


class RecordTexts:
    """Reads and writes the lines of one source."""

    def __init__(self, type_info: TypeInformation) -> None:
        """Find the codec of the type."""
        self._is_declared = not isinstance(type_info, PickledBytesTypeInfo)
        own = type_info if self._is_declared else Types.STRING()
        self._plain = json_codec(own)
        kinds = [Types.LONG(), Types.STRING(), own]
        self._stamped = json_codec(Types.ROW_NAMED(list(_FIELDS), kinds))

    def read(self, line: str) -> Any:
        """Return the record of a line: a `SampleRecord` if it has a timestamp or a kind."""
        if _STAMPED.match(line) is None:
            return self._plain.read(line) if self._is_declared else _value(json.loads(line))
        if self._is_declared:
            stamp, kind, value = self._stamped.read(line)
        else:
            encoded = json.loads(line)
            stamp, kind, value = (_value(encoded[name]) for name in _FIELDS)
        if kind is not None:
            value.set_row_kind(RowKind[kind])
        return SampleRecord(0, value, stamp)

    def write(self, record: SampleRecord) -> str:
        """Return the line of a record, which `read` returns as it is."""
        value = record.value
        is_change = isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT
        kind = value.get_row_kind().name if is_change else None
        if record.timestamp is None and kind is None:
            return self._plain.write(value) if self._is_declared else _tagged_text(value)
        if self._is_declared:
            fields = dict(zip(_FIELDS, (record.timestamp, kind, value), strict=True))
            return self._stamped.write(Row(**fields))
        head = json.dumps({_FIELDS[0]: record.timestamp, _FIELDS[1]: kind})
        return f'{head[:-1]}, "{_FIELDS[2]}": {_tagged_text(value)}}}'


def _tagged_text(value: Any) -> str:
    text = json.dumps(_tagged(value), ensure_ascii=False)
    if not same_answer([_value(json.loads(text))], [value]):
        raise TextError(f"{value!r} is not the same when it is read again")
    return text


def _bytes_text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _row(parts: list[Any]) -> Row:
    names, values = parts[0], list(map(_value, parts[1]))
    return Row(**dict(zip(names, values, strict=True))) if names else Row(*values)


def _change(parts: list[Any]) -> Change:
    kind, *others = map(_value, parts)
    return Change(RowKind[kind], *others)


def _datetime_texts(value: dt.datetime) -> Any:
    """Return the text, of a datetime in a named zone with its name and fold."""
    if not isinstance(value.tzinfo, ZoneInfo):
        return value.isoformat()
    return [value.replace(tzinfo=None).isoformat(), value.tzinfo.key, value.fold]


def _datetime(texts: Any) -> dt.datetime:
    if isinstance(texts, str):
        return dt.datetime.fromisoformat(texts)
    text, zone, fold = texts
    return dt.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


def _dict(pairs: list[list[Any]]) -> dict[Any, Any]:
    return {_value(key): _value(content) for key, content in pairs}


_TAGS: Mapping[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "@kafka": (KafkaRecord, list, lambda parts: KafkaRecord(*map(_value, parts))),
    "@redis": (
        RedisEntry,
        lambda entry: [entry.stream, entry.id, entry.fields],
        lambda parts: RedisEntry(*map(_value, parts)),
    ),
    "@change": (Change, lambda change: [change.op.name, *change[1:]], _change),
    "@tuple": (tuple, list, lambda items: tuple(map(_value, items))),
    "@row": (
        Row,
        lambda row: [list(names_of(row) or ()), list(row)],
        _row,
    ),
    "@dict": (dict, lambda pairs: list(map(list, pairs.items())), _dict),
    "@bytes": (bytes, _bytes_text, base64.b64decode),
    "@decimal": (Decimal, str, Decimal),
    "@datetime": (dt.datetime, _datetime_texts, _datetime),
    "@date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "@time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "@interval": (
        dt.timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: dt.timedelta(*parts),
    ),
    "@uuid": (UUID, str, UUID),
}
"""Tag to the class, the JSON of its values, and their making."""


def _tagged(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return list(map(_tagged, value))
    if type(value) is dict and all(type(key) is str and key[:1] != "@" for key in value):
        return {key: _tagged(content) for key, content in value.items()}
    for tag, (cls, write, _) in _TAGS.items():
        if class_of(value) is cls:
            return {tag: _tagged(write(value))}
    raise TextError(f"a {type(value).__name__} has no JSON")


def _value(parsed: Any) -> Any:
    if isinstance(parsed, list):
        return list(map(_value, parsed))
    if not isinstance(parsed, dict):
        return parsed
    if len(parsed) == 1:
        ((tag, content),) = parsed.items()
        if tag in _TAGS:
            return _TAGS[tag][2](content)
    return {key: _value(part) for key, part in parsed.items()}


def parts_of(record: Any) -> dict[Any, Any]:
    """Return place to value: names of fields or columns, indexes of elements, or None for a record without parts.

    Examples:
        >>> parts_of(("ann", 5)), parts_of(Row(name="ann")), parts_of(5)
        ({0: 'ann', 1: 5}, {'name': 'ann'}, {None: 5})
    """
    if isinstance(record, Row):
        return dict(zip(names_of(record) or range(len(record)), record, strict=True))
    if isinstance(record, dict):
        return dict(record)
    if hasattr(record, "_asdict"):  # a NamedTuple
        return dict(record._asdict())
    if isinstance(record, RedisEntry):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    if type(record) in (tuple, list):
        return dict(enumerate(record))
    return {None: record}


def with_parts(record: Any, changed: dict[Any, Any]) -> Any:
    """Return a record with some parts replaced; the record itself if there are none.

    Examples:
        >>> with_parts(("ann", 5), {1: 6}), with_parts(Row(n=5), {"n": None}), with_parts(5, {None: 6})
        (('ann', 6), Row(n=None), 6)
    """
    if not changed:
        return record
    parts = parts_of(record) | changed
    if isinstance(record, Row):
        row = Row(**parts) if names_of(record) else Row(*parts.values())
        row.set_row_kind(record.get_row_kind())
        return row
    if isinstance(record, dict):
        return parts
    if isinstance(record, RedisEntry):
        return RedisEntry(**parts)
    if hasattr(record, "_make"):
        return record._make(parts.values())
    return type(record)(parts.values()) if type(record) in (tuple, list) else parts[None]


def with_changed_parts(
    sample: Sample, change: Callable[[dict[Any, Any]], dict[Any, Any]]
) -> Sample:
    """Return a sample with parts of some records replaced; itself if a change replaces none."""
    changes = [change(parts_of(element.value)) for element in sample]
    if not any(changes):
        return sample
    return tuple(
        replace(element, value=with_parts(element.value, changed)) if changed else element
        for element, changed in zip(sample, changes, strict=True)
    )

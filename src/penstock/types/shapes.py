"""Records of any accepted shape become one sequence of values per field.

The accepted shapes are rows, tuples, lists, dicts, named tuples, dataclass instances and other
objects with attributes. Fields with names are matched by name, others by position.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from penstock.errors import did_you_mean
from penstock.types.basic import refusal
from penstock.types.row import Row, names_of, only_rows, rows_to_values, schemas_of

_POSITIONAL = {tuple, list}


def record_values(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """Return the values of one record in the order of `names`.

    A name that a dict lacks is None; any other record must have all names. Unknown names are
    errors, except of an object, which may have more attributes. The fields of a named tuple with
    other names are matched by position.

    Raises:
        ValueError: The record has no accepted shape, or other fields.
    """
    if isinstance(record, Row):
        schema = names_of(record)
        if schema is None or schema == names:
            return _counted(record, tuple(record), names)
        return _by_name(record, record.as_dict(), names)
    if isinstance(record, (tuple, list)):
        own = getattr(record, "_fields", names)
        if own != names and set(own) == set(names):
            return [getattr(record, name) for name in names]
        return _counted(record, record, names)
    if isinstance(record, dict):
        return _by_name(record, dict.fromkeys(names) | record, names)
    fields = _attributes(record, names)
    if fields is None:
        wanted = "a Row, tuple, list, dict, named tuple, dataclass or object with these fields"
        raise refusal(record, wanted)
    return _by_name(record, fields, names)


def tuple_values(record: Any, n_fields: int) -> Sequence[Any]:
    """Return the values of a tuple, list or row.

    Raises:
        ValueError: The record is none of these, or has another number of fields.
    """
    if not isinstance(record, (tuple, list, Row)):
        raise refusal(record, "a tuple, list or Row")
    if len(record) != n_fields:
        raise refusal(record, f"of {n_fields} fields but {len(record)}")
    return record if isinstance(record, tuple) else tuple(record)


def bulk_values(
    records: Sequence[Any], kinds: set[type], names: tuple[str, ...], *, by_name: bool
) -> Sequence[Sequence[Any]] | None:
    """Return the values of every record, or None if each record must be checked alone.

    The result equals `record_values` (`by_name`) or `tuple_values` of every record. It contains
    the rows' own lists: do not change it.
    """
    lists: Sequence[Sequence[Any]]
    if only_rows(kinds):
        if by_name and not schemas_of(records) <= {names, None}:
            return None
        lists = rows_to_values(records)
    elif kinds <= _POSITIONAL or all(_is_tuple_of(kind, names) for kind in kinds):
        lists = records
    elif kinds == {dict} and by_name and set(chain.from_iterable(records)) <= set(names):
        lists = [list(map(record.get, names)) for record in records]
    elif by_name and len(kinds) == 1 and _is_dataclass_of(next(iter(kinds)), names):
        return list(map(attrgetter(*names), records))
    else:
        return None
    return lists if set(map(len, lists)) == {len(names)} else None


def _is_tuple_of(kind: type, names: tuple[str, ...]) -> bool:
    return issubclass(kind, tuple) and getattr(kind, "_fields", None) == names


def _is_dataclass_of(kind: type, names: tuple[str, ...]) -> bool:
    # Of one name, `attrgetter` would not return a tuple.
    if not dataclasses.is_dataclass(kind) or len(names) == 1:
        return False
    own = [item.name for item in dataclasses.fields(kind)]
    return len(own) == len(names) and set(own) == set(names)


def _counted(record: Any, values: Sequence[Any], names: tuple[str, ...]) -> Sequence[Any]:
    if len(values) != len(names):
        raise refusal(record, f"of {len(names)} fields ({', '.join(names)}) but {len(values)}")
    return values


def _by_name(record: Any, fields: dict[str, Any], names: tuple[str, ...]) -> Sequence[Any]:
    if len(fields) != len(names) or not fields.keys() >= set(names):
        missing = [name for name in names if name not in fields]
        unknown = [name for name in fields if name not in names]
        near = did_you_mean(str(unknown[0]), names) if unknown else ""
        msg = f"{record!r} lacks fields {missing} and has unknown fields {unknown}{near}"
        raise ValueError(msg)
    return [fields[name] for name in names]


def _attributes(record: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the fields of a dataclass instance, or the named attributes of an object."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {item.name: getattr(record, item.name) for item in dataclasses.fields(record)}
    attributes = getattr(record, "__dict__", None)
    if not isinstance(attributes, dict) or not attributes.keys() >= set(names):
        return None
    return {name: attributes[name] for name in names}

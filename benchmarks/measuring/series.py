"""Samples of a long run as columns: a record keeps what its picture and table need.

One JSON object a sample repeats every name. Columns hold the same values in a tenth of the bytes. Sizes that are whole
pages are written as numbers of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PAGE = 4096
"""Bytes of a page of memory, and of a block of most disks."""

_PAGES = "/pages"
_STEP = "."


def as_columns(samples: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return fields of samples as columns.

    Args:
        samples: In order of time.
        names: Of the fields; `a.b` is the field `b` of the object `a`. An object that lacks it has None in its column.
    """
    columns = {}
    for name in names:
        values = [_value(sample, name) for sample in samples]
        if "bytes" in name and not any(value % PAGE for value in values):
            columns[name + _PAGES] = [value // PAGE for value in values]
        else:
            columns[name] = values
    return columns


def as_samples(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the samples of columns, with the fields that were kept."""
    samples: list[dict[str, Any]] = [{} for _ in next(iter(columns.values()), [])]
    for name, values in columns.items():
        field, pages, _ = name.partition(_PAGES)
        path = field.split(_STEP)
        for sample, value in zip(samples, values, strict=True):
            place = sample
            for step in path[:-1]:
                place = place.setdefault(step, {})
            if value is not None:
                place[path[-1]] = value * PAGE if pages else value
    return samples


def _value(sample: dict[str, Any], name: str) -> Any:
    found: Any = sample
    for step in name.split(_STEP):
        found = found.get(step) if isinstance(found, dict) else None
    return found

"""A test file that reproduces a difference."""

from __future__ import annotations

import datetime  # noqa: ICN001 - the name in texts of records
import decimal
import math
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any
from uuid import UUID

from penstock.connectors.kafka.values import KafkaRecord
from penstock.connectors.postgres.values import Change
from penstock.connectors.redis.redis_source import RedisEntry
from penstock.errors import ArgumentError
from penstock.testing.law.samples import Sample, SampleRecord
from penstock.testing.law.verdict import Disagreement
from penstock.testing.results import same_answer
from penstock.types import Instant
from penstock.types.row import Row, RowKind, class_of, names_of

_NAMES: Mapping[str, Any] = {
    "Row": Row,
    "RowKind": RowKind,
    "KafkaRecord": KafkaRecord,
    "Change": Change,
    "RedisEntry": RedisEntry,
    "UUID": UUID,
    "Instant": Instant,
    "SampleRecord": SampleRecord,
    "datetime": datetime,
    "zoneinfo": zoneinfo,
    "Decimal": decimal.Decimal,
    "inf": math.inf,
    "nan": math.nan,
}
_IMPORTS: Mapping[str, str] = {
    "datetime.": "import datetime",
    "zoneinfo.": "import zoneinfo",
    "Decimal(": "from decimal import Decimal",
    "Instant(": "from penstock.common import Instant",
    "Row(": "from penstock.common import Row",
    "Row.of_kind(": "from penstock.common import Row",
    "RowKind.": "from penstock.common import RowKind",
    "KafkaRecord(": "from penstock.datastream.connectors.kafka import KafkaRecord",
    "Change(": "from penstock.datastream.connectors.postgres import Change",
    "RedisEntry(": "from penstock.datastream.connectors.redis import RedisEntry",
    "UUID(": "from uuid import UUID",
    "inf": "from math import inf",
    "nan": "from math import nan",
}


def text_of_test(
    script: Path, file: Path, arguments: Sequence[str], disagreement: Disagreement
) -> str:
    """Return the text of a file of pytest that fails as long as two ways give two answers."""
    inputs = "".join(
        f"            {name!r}: {text},\n" for name, text in _inputs(disagreement.inputs)
    )
    imports = {line for mark, line in _IMPORTS.items() if mark in inputs}
    marked = ["SampleRecord"] if "SampleRecord(" in inputs else []
    names = ", ".join(sorted(["Way", "WayMode", "check_script", *marked]))
    heading = f'"""Checks that {script.name} gives one answer; `penstock check` found two."""'
    return "\n".join(
        [
            heading,
            "",
            *sorted([*imports, "from pathlib import Path"]),
            "",
            f"from penstock.testing import {names}",
            "",
            "",
            f"def test_{_identifier(script.stem)}_gives_one_answer():",
            "    check_script(",
            f"        Path(__file__).parent / {relpath(script, file.parent)!r},",
            *([f"        {list(arguments)!r},"] if arguments else []),
            "        inputs={",
            f"{inputs}        }},",
            f"        ways=[{disagreement.first!r}, {disagreement.second!r}],",
            "    )",
            "",
        ]
    )


def _inputs(inputs: Mapping[str, Sample]) -> Iterator[tuple[str, str]]:
    for name, sample in inputs.items():
        is_plain = all(element.split == 0 and element.timestamp is None for element in sample)
        values = [element.value for element in sample] if is_plain else list(sample)
        text = _text_of(values)
        try:
            is_same = same_answer(eval(text, dict(_NAMES)), values)  # noqa: S307 - text that is made here
        except Exception:  # noqa: BLE001 - the text of an object of the user
            is_same = False
        if not is_same:
            raise ArgumentError(
                f"records of source {name!r} have no text that Python reads: {text[:200]}",
                hint="Use rows, tuples and plain values as records, or write the test by hand with check_script.",
            )
        yield name, text


def _text_of(value: Any) -> str:
    """Return the expression of a value; `repr` lacks the kinds of rows."""
    text_of = _TEXTS.get(class_of(value))
    if text_of is not None:
        return text_of(value)
    if hasattr(value, "_fields"):  # a NamedTuple
        return f"{type(value).__name__}({_arguments(value._fields, value)})"
    return repr(value)


def _text_of_row(row: Row) -> str:
    kind, names = row.get_row_kind(), names_of(row)
    head = "Row(" if kind is RowKind.INSERT else f"Row.of_kind({_text_of(kind)}, "
    if names is None or all(map(str.isidentifier, names)):
        return f"{head}{_arguments(names, row)})"
    return f"{head}**{_text_of(dict(zip(names, row, strict=True)))})"


def _arguments(names: Sequence[str] | None, values: Iterable[Any]) -> str:
    texts = map(_text_of, values)
    if names is None:
        return ", ".join(texts)
    return ", ".join(f"{name}={text}" for name, text in zip(names, texts, strict=True))


_TEXTS: Mapping[type, Callable[[Any], str]] = {
    Row: _text_of_row,
    RowKind: lambda kind: f"RowKind.{kind.name}",
    SampleRecord: lambda record: (
        f"SampleRecord({_arguments(None, (record.split, record.value, record.timestamp))})"
    ),
    dict: lambda pairs: (
        f"{{{', '.join(f'{_text_of(k)}: {_text_of(v)}' for k, v in pairs.items())}}}"
    ),
    tuple: lambda items: f"({_arguments(None, items)}{',' * (len(items) == 1)})",
    list: lambda items: f"[{_arguments(None, items)}]",
}


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).lower()

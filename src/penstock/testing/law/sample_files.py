"""Samples of a program's sources as files that `penstock check --input` takes, and masks of their values."""

from __future__ import annotations

import datetime as dt
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from penstock.config.configuration import is_secret
from penstock.connectors.kafka.values import KafkaRecord
from penstock.connectors.postgres.values import Change
from penstock.connectors.redis.redis_source import RedisEntry
from penstock.errors import ArgumentError, PenstockError, SourceError, did_you_mean
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import SOURCE
from penstock.testing.law.own_samples import first_records
from penstock.testing.law.record_texts import RecordTexts, parts_of, with_parts
from penstock.types import Row, TypeInformation
from penstock.wire.text import TextError

_WIDTHS = (31, 15, 7)
"""Bits of masked numbers, the widest first: a declared type may hold no more."""

_BEGIN = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_DAYS = 10_000


class Mask:
    """Masks columns by name, and those whose names are secrets, also inside of texts that are JSON objects."""

    def __init__(self, columns: Iterable[str]) -> None:
        """Draw a key."""
        self._columns = frozenset(columns)
        self._key = secrets.token_bytes(32)
        self._width = _WIDTHS[0]
        self.masked: dict[str, None] = {}
        self.seen: dict[str, None] = {}

    def record(self, value: Any, type_info: TypeInformation) -> Any:
        """Return a record with masked columns, of the declared type."""
        for self._width in _WIDTHS:
            masked = self._of_parts(value)
            try:
                type_info.coerce(masked)
            except ValueError as cause:
                problem = str(cause)
                continue
            return masked
        raise ArgumentError(
            f"a masked record is not of its declared type: {problem}",
            hint="Leave a column out of --mask.",
        )

    def _of_parts(self, value: Any) -> Any:
        if isinstance(value, str | bytes):
            return self._of_text(value)
        if not isinstance(value, Row | dict | tuple | list | RedisEntry):
            return value
        changed = {}
        for place, part in parts_of(value).items():
            name = place.decode(errors="replace") if isinstance(place, bytes) else str(place)
            self.seen[name] = None
            is_named = name in self._columns or (isinstance(place, str | bytes) and is_secret(name))
            if is_named and part is not None:
                self.masked[name] = None
            hidden = self._hidden(part, name) if is_named else self._of_parts(part)
            if hidden is not part:
                changed[place] = hidden
        masked = with_parts(value, changed)
        if isinstance(value, KafkaRecord):
            headers = ((name, self._of_parts({name: data})[name]) for name, data in value.headers)
            return masked._replace(headers=tuple(headers))
        return _with_masked_keys(masked, value) if isinstance(value, Change) else masked

    def _of_text(self, text: str | bytes) -> str | bytes:
        """Return a text that is a JSON object with its columns masked; any other as it is."""
        if text[:1] not in ("{", b"{"):
            return text
        try:
            parsed = json.loads(text)
        except ValueError:
            return text
        masked = self._of_parts(parsed)
        if masked == parsed:
            return text
        written = json.dumps(masked, ensure_ascii=False)
        return written.encode() if isinstance(text, bytes) else written

    def _hidden(self, value: Any, name: str) -> Any:
        if value is None:
            return None
        if isinstance(value, Row | dict | tuple | list):
            parts = parts_of(value)
            return with_parts(value, {key: self._hidden(part, name) for key, part in parts.items()})
        hide = next((hide for cls, hide in _HIDE.items() if isinstance(value, cls)), None)
        if hide is None:
            raise ArgumentError(
                f"column {name!r} has a {type(value).__name__}, which cannot be masked",
                hint="Mask texts, bytes, numbers and times.",
            )
        return hide(value, self)

    def digest(self, value: Any) -> int:
        """Return a number of 256 bits; the same one for equal values."""
        is_whole = isinstance(value, int | float | Decimal) and value == value // 1
        text = str(int(value)) if is_whole else repr(value)
        return int.from_bytes(hmac.digest(self._key, text.encode(), "sha256"), "big")

    def number(self, value: Any) -> int:
        """Return a number that fits into the declared type."""
        return self.digest(value) >> (256 - self._width)


def _with_masked_keys(masked_change: Change, change: Change) -> Change:
    """Return a masked change whose keys have the masks of the columns with their values: a key has no names."""
    masks = {
        repr(value): mask
        for row, masked in (
            (change.before, masked_change.before),
            (change.after, masked_change.after),
        )
        for value, mask in zip((row or {}).values(), (masked or {}).values(), strict=True)
        if mask is not value
    }

    def hidden(key: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return None if key is None else tuple(masks.get(repr(part), part) for part in key)

    key = hidden(masked_change.key) or ()
    return masked_change._replace(key=key, previous_key=hidden(masked_change.previous_key))


def _decimal(value: Decimal, mask: Mask) -> Decimal:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return value  # NaN or infinity
    hidden = str(mask.digest(value))[: len(digits)]
    return Decimal((sign, tuple(map(int, hidden)), exponent))


def _moved(value: Any, mask: Mask) -> dt.timedelta:
    return dt.timedelta(seconds=mask.digest(value) % (_DAYS * 86_400))


_HIDE: Mapping[type, Callable[[Any, Mask], Any]] = {
    bool: lambda value, mask: value is bool(mask.digest("bool") & 1),
    str: lambda value, mask: f"m{mask.digest(value) >> 208:012x}",
    bytes: lambda value, mask: (mask.digest(value) >> 160).to_bytes(12, "big"),
    int: lambda value, mask: mask.number(value),
    float: lambda value, mask: float(mask.number(value)),
    Decimal: _decimal,
    dt.datetime: lambda value, mask: (_BEGIN + _moved(value, mask)).replace(tzinfo=value.tzinfo),
    dt.date: lambda value, mask: (_BEGIN + _moved(value, mask)).date(),
    dt.time: lambda value, mask: (_BEGIN + _moved(value, mask)).time(),
    dt.timedelta: _moved,
    UUID: lambda value, mask: UUID(int=mask.digest(value) >> 128),
}
"""Class to the mask of a value; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The sample of one source.

    Attributes:
        path: The file, or the directory with a file for each split; None if it has no sample.
        problem: The reason why it has no sample, with a hint; None if it has one.
        left_out: Its parts, in words, of which the sample has no records, because they cannot be read here.
    """

    name: str
    path: Path | None = None
    records: int = 0
    problem: str | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """The samples of a program."""

    sources: tuple[SourceFiles, ...]
    masked: tuple[str, ...]


def write_samples(
    graph: LogicalGraph, directory: Path, records: int, masked: Iterable[str]
) -> SampleFiles:
    """Write the first records of every source that can be read."""
    columns = tuple(masked)
    if directory.exists() and any(directory.iterdir()):
        raise ArgumentError(
            f"{directory} is not empty", hint="Name a directory that is empty or not there."
        )
    mask, texts, left_out, unread = Mask(columns), {}, {}, []
    for node in graph.of_kind(SOURCE):
        try:
            texts[node.name], left_out[node.name] = _lines(graph, node, records, mask)
        except ArgumentError:
            raise
        except PenstockError as error:
            unread.append(SourceFiles(node.name, problem=f"{error.problem}. {error.hint}"))
    if not any(map(any, texts.values())):
        empty = [SourceFiles(name, problem="it has no records") for name in texts]
        problems = "; ".join(f"{source.name!r}: {source.problem}" for source in [*unread, *empty])
        raise SourceError(
            f"no source can be sampled: {problems}",
            hint="Write the files by hand, or declare the types of records: a check generates such.",
        )
    _check_columns(columns, mask)
    written = [
        replace(_written(directory, name, splits), left_out=left_out[name])
        for name, splits in texts.items()
    ]
    return SampleFiles((*written, *unread), tuple(mask.masked))


def _lines(
    graph: LogicalGraph, node: Node, records: int, mask: Mask
) -> tuple[list[list[str]], tuple[str, ...]]:
    """Return the lines of each split of a source, and its parts that are left out."""
    if Path(node.name).name != node.name or node.name.startswith("."):
        raise SourceError(
            f"{node.name!r} is no name of a file", hint="Name the source in from_source."
        )
    sample, left_out = first_records(graph, node, records)
    try:
        texts = RecordTexts(node.type_info)
    except ArgumentError as cause:
        raise SourceError(cause.problem, hint=cause.hint, origin=node.origin) from cause
    splits: dict[int, list[str]] = {}
    for element in sample:
        masked = replace(element, value=mask.record(element.value, node.type_info))
        try:
            line = texts.write(masked)
        except TextError as cause:
            raise SourceError(
                f"a record has no JSON: {cause}",
                hint="Declare the type of the records.",
                origin=node.origin,
            ) from cause
        splits.setdefault(element.split, []).append(line)
    return [splits[number] for number in sorted(splits)] or [[]], left_out


def _check_columns(columns: Iterable[str], mask: Mask) -> None:
    for name in columns:
        if name not in mask.seen:
            known = tuple(mask.seen)
            raise ArgumentError(
                f"no record has the column {name!r}{did_you_mean(name, known)}; there are {list(known)}",
                hint="Name a field of the records, or the number of an element.",
            )


def _written(directory: Path, name: str, splits: list[list[str]]) -> SourceFiles:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / (f"{name}.jsonl" if len(splits) == 1 else name)
    if len(splits) > 1:
        path.mkdir()
    for number, lines in enumerate(splits):
        file = path if len(splits) == 1 else path / f"{number:04}.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return SourceFiles(name, path, sum(map(len, splits)))

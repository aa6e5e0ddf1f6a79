"""The connector `datagen`: rows that are computed of their number, so that each is the same whenever it is read."""

from __future__ import annotations

import datetime as dt
import string
from collections.abc import Callable, Mapping
from decimal import Decimal
from random import Random
from typing import Any, ClassVar

from penstock.config.parse import DURATION, INTEGER, NUMBER, STRING
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.errors import ConfigError
from penstock.sql.tables.definition import Connector, TableDefinition, TableSource
from penstock.sql.tables.options import TableOption
from penstock.types.row import Row
from penstock.types.sql_types import SqlType

Make = Callable[[int, Random], Any]
"""Makes the value of a row number, with a source of chance that depends on the number only."""

_RATE = TableOption("rows-per-second", INTEGER, "Rate of a live run.", default=10_000)
_COUNT = TableOption("number-of-rows", INTEGER, "Number of rows; by default the table never ends.")
_START = TableOption(
    "start-time",
    STRING,
    "Ours. Time of the first row; the others follow at the rate.",
    default="2026-01-01 00:00:00",
)
_FIELDS = TableOption(
    "fields.*",
    STRING,
    "Values of a column: `kind` (random or sequence), `min`, `max`, `length`, `start`, `end`, `null-rate`, `max-past`.",
)
_PROPERTIES = ("kind", "min", "max", "length", "start", "end", "null-rate", "max-past")
_LETTERS = string.hexdigits[:16]
_WHOLE = {"TINYINT": 1 << 7, "SMALLINT": 1 << 15, "INT": 1 << 31, "BIGINT": 1 << 63}
_LENGTH = 100
_DAYS = 3650


class _GeneratedColumn:
    """The options of one column."""

    def __init__(self, table: TableDefinition, name: str, kind: SqlType) -> None:
        self.table, self.name, self.kind = table, name, kind
        begin = f"{name}."
        self.given: Mapping[str, str] = {
            key.removeprefix(begin): text
            for key, text in table.options.family(_FIELDS).items()
            if key.startswith(begin)
        }
        for key in self.given:
            if key not in _PROPERTIES:
                raise table.options.wrong(
                    f"has the option 'fields.{name}.{key}'", f"Use one of {', '.join(_PROPERTIES)}."
                )

    def get(self, key: str, parse: Callable[[str], Any], default: Any) -> Any:
        """Return the value of an option."""
        text = self.given.get(key)
        try:
            return default if text is None else parse(text)
        except (ConfigError, ValueError, ArithmeticError) as cause:
            raise self.table.options.wrong(
                f"has 'fields.{self.name}.{key}' = {text!r}: {cause}", "Correct the value."
            ) from cause

    def make(self) -> Make:
        """Return the function that makes its values."""
        kind = self.get("kind", str, "random")
        if kind == "sequence":
            generate = self._sequence()
        elif kind == "random":
            generate = self._random(self.kind)
        else:
            raise self.table.options.wrong(
                f"has 'fields.{self.name}.kind' = {kind!r}", "Use random or sequence."
            )
        rate = self.get("null-rate", NUMBER, 0.0)
        if not rate:
            return generate
        return lambda number, chance: None if chance.random() < rate else generate(number, chance)

    @property
    def end_of_sequence(self) -> int | None:
        """Number of rows that a sequence gives, None if the column is none."""
        if self.given.get("kind") != "sequence":
            return None
        first, last = self.get("start", INTEGER, None), self.get("end", INTEGER, None)
        if first is None or last is None or last < first:
            raise self.table.options.wrong(
                f"has a sequence {self.name!r} without a start and an end behind it",
                f"Set 'fields.{self.name}.start' and 'fields.{self.name}.end'.",
            )
        return int(last - first + 1)

    def _sequence(self) -> Make:
        length = self.end_of_sequence
        assert length is not None, "it is a sequence"
        first = self.get("start", INTEGER, 0)
        convert = _OF_NUMBER.get(self.kind.name)
        if convert is None:
            raise self.table.options.wrong(
                f"has a sequence {self.name!r} of the type {self.kind}", "Use a number or STRING."
            )
        return lambda number, _: convert(first + number)

    def _random(self, kind: SqlType) -> Make:
        make = self._MAKERS.get(kind.name)
        if make is None:
            raise self.table.options.wrong(
                f"has the column {self.name!r} of type {kind}", "datagen makes no such values."
            )
        generate: Make = make(self, kind)
        return generate

    def _whole(self, kind: SqlType) -> Make:
        limit = _WHOLE[kind.name]
        low, high = self.get("min", INTEGER, -limit), self.get("max", INTEGER, limit - 1)
        return lambda _, chance: chance.randint(low, high)

    def _float(self, kind: SqlType) -> Make:
        low, high = self.get("min", NUMBER, 0.0), self.get("max", NUMBER, 1.0)
        return lambda _, chance: chance.uniform(low, high)

    def _boolean(self, kind: SqlType) -> Make:
        return lambda _, chance: chance.random() < 1 / 2

    def _date(self, kind: SqlType) -> Make:
        return lambda _, chance: dt.date(2026, 1, 1) - dt.timedelta(chance.randrange(_DAYS))

    def _array(self, kind: SqlType) -> Make:
        element, length = self._random(kind.components[0]), self.get("length", INTEGER, 3)
        return lambda number, chance: [element(number, chance) for _ in range(length)]

    def _row(self, kind: SqlType) -> Make:
        parts, coerce = [self._random(part) for part in kind.components], kind.type_info.coerce
        return lambda number, chance: coerce([part(number, chance) for part in parts])

    def _decimal(self, kind: SqlType) -> Make:
        limit = 10 ** (kind.precision - kind.scale)
        low, high = (
            int(self.get(key, Decimal, default).scaleb(kind.scale))
            for key, default in (("min", Decimal(-limit + 1)), ("max", Decimal(limit - 1)))
        )
        return lambda _, chance: Decimal(chance.randint(low, high)).scaleb(-kind.scale)

    def _bytes(self, kind: SqlType) -> Make:
        length = self.get("length", INTEGER, _LENGTH)
        return lambda _, chance: chance.randbytes(length)

    def _text(self, kind: SqlType) -> Make:
        length = self.get("length", INTEGER, _LENGTH)
        return lambda _, chance: "".join(chance.choices(_LETTERS, k=length))

    def _moment(self, kind: SqlType) -> Make:
        first = self.table.options.value(_START)
        try:
            start = dt.datetime.fromisoformat(first)
        except ValueError as cause:
            raise self.table.options.wrong(
                f"has {_START.key!r} = {first!r}", "Write it as 2026-01-01 00:00:00."
            ) from cause
        if kind.name == "TIMESTAMP_LTZ":
            start = start.replace(tzinfo=dt.UTC)
        rate = self.table.options.value(_RATE)
        past = self.get("max-past", DURATION, dt.timedelta(0)) // dt.timedelta(milliseconds=1)

        def make(number: int, chance: Random) -> dt.datetime:
            behind = chance.randint(0, past) if past else 0
            return start + dt.timedelta(milliseconds=number * 1000 // rate - behind)

        return make

    _MAKERS: ClassVar[Mapping[str, Callable[..., Make]]] = {
        **dict.fromkeys(_WHOLE, _whole),
        **dict.fromkeys(("FLOAT", "DOUBLE"), _float),
        **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ"), _moment),
        "DECIMAL": _decimal,
        "STRING": _text,
        "BYTES": _bytes,
        "BOOLEAN": _boolean,
        "DATE": _date,
        "ARRAY": _array,
        "ROW": _row,
    }


_OF_NUMBER: Mapping[str, Callable[[int], Any]] = {
    **dict.fromkeys(_WHOLE, int),
    "FLOAT": float,
    "DOUBLE": float,
    "DECIMAL": Decimal,
    "STRING": str,
}


class _Generator:
    """Makes the row of a number."""

    def __init__(self, names: tuple[str, ...], columns: list[Make]) -> None:
        self._names = names
        self._columns = columns

    def __call__(self, number: int) -> Row:
        """Return the row."""
        chance = Random(number)  # noqa: S311 - test data
        return Row(*self._names)(*[make(number, chance) for make in self._columns])


def _source(table: TableDefinition) -> TableSource:
    columns = [_GeneratedColumn(table, name, kind) for name, kind in table.physical]
    known = {column.name for column in columns}
    for key in table.options.family(_FIELDS):
        name = key.rpartition(".")[0]
        if name not in known:
            raise table.options.wrong(
                f"has the option 'fields.{key}', and no column {name!r}",
                f"Its columns are {', '.join(sorted(known))}.",
            )
    ends = [end for end in (column.end_of_sequence for column in columns) if end is not None]
    count = table.options.get(_COUNT)
    ends += [] if count is None else [count]
    generator = _Generator(
        tuple(column.name for column in columns), [column.make() for column in columns]
    )
    return TableSource(
        DataGeneratorSource(
            generator, min(ends, default=None), table.options.value(_RATE), table.row_type
        )
    )


DATAGEN = Connector(
    "datagen",
    "rows made of their number, for trials",
    (_RATE, _COUNT, _START, _FIELDS),
    _source,
    None,
)

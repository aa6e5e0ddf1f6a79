"""The format `json`: one object per message or line.

The format `debezium-json`: a message contains a row of a database before and after a change.

    {"before": {…}, "after": {…}, "op": "u", …}     c, r: after is new; u: it replaces before; d: before is gone

It becomes rows of a changelog: `+I`, `-U` and `+U`, `-D`. The schema that Kafka Connect may put around it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

from penstock.errors import DecodeError
from penstock.sql.tables.formats.texts import Fields, check, finished, rules, unwritable
from penstock.types import RowTypeInfo
from penstock.types.row import RowKind
from penstock.wire.text import TextError, json_codec, of_json, shown


class JsonDecoder:
    """Makes the values of a row of the text of an object. Other members of the object are left out.

    Numbers and booleans may be texts. A STRING of something else is the JSON of it.
    """

    def __init__(
        self,
        fields: Fields,
        *,
        skips_errors: bool,
        fails_on_missing: bool,
        zone: tzinfo | None = None,
    ) -> None:
        """Prepare for rows of a type."""
        self._arguments = (tuple(fields), skips_errors, fails_on_missing, zone)
        self._skips_errors = skips_errors
        self._fails_on_missing = fails_on_missing
        self._readers = [(name, _reader(kind, zone)) for name, kind in fields]

    def __reduce__(self) -> tuple[Any, ...]:
        return _decoder, self._arguments

    def __call__(self, message: bytes | str) -> list[Any] | None:
        """Return the values; None of a message that is skipped."""
        try:
            values: list[Any] | None = of_json(message, self.values)
        except TextError as cause:
            if self._skips_errors:
                return None
            raise DecodeError(
                f"{shown(message)} cannot be read as JSON: {cause}",
                hint="Correct the columns of the table, or set 'json.ignore-parse-errors' = 'true'.",
            ) from cause
        return values

    def values(self, parsed: Any) -> list[Any]:
        """Return the values of a parsed object."""
        if not isinstance(parsed, dict):
            raise TextError("it is not an object")
        return [self._value(name, read, parsed) for name, read in self._readers]

    def _value(self, name: str, read: Callable[[Any], Any], parsed: dict[str, Any]) -> Any:
        value = parsed.get(name)
        if value is None:
            if self._fails_on_missing and name not in parsed:
                raise TextError(f"column {name!r}: it is missing")
            return None
        try:
            return read(value)
        except TextError as cause:
            if self._skips_errors:
                return None
            raise TextError(f"column {name!r}: {cause}") from None


def _decoder(
    fields: Fields,
    skips_errors: bool,  # noqa: FBT001 - of a pickle
    fails_on_missing: bool,  # noqa: FBT001
    zone: tzinfo | None,
) -> JsonDecoder:
    return JsonDecoder(
        fields, skips_errors=skips_errors, fails_on_missing=fails_on_missing, zone=zone
    )


def _reader(kind: Any, zone: tzinfo | None) -> Callable[[Any], Any]:
    check(kind, "JSON")
    return finished(json_codec(kind.type_info, rules(zone=zone)).reads, kind)


class JsonEncoder:
    """Writes the values of a row as the text of an object."""

    def __init__(self, fields: Fields, *, is_iso: bool) -> None:
        """Prepare for rows of a type."""
        self._arguments = (tuple(fields), is_iso)
        for _, kind in fields:
            check(kind, "JSON")
        row_type = RowTypeInfo([kind.type_info for _, kind in fields], [name for name, _ in fields])
        self._codec = json_codec(row_type, rules(is_iso=is_iso))

    def __reduce__(self) -> tuple[Any, ...]:
        return _encoder, self._arguments

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the text."""
        try:
            return self._codec.write(values)
        except TextError as cause:
            raise unwritable(values, cause) from cause


def _encoder(fields: Fields, is_iso: bool) -> JsonEncoder:  # noqa: FBT001 - of a pickle
    return JsonEncoder(fields, is_iso=is_iso)


Changes = list[tuple[RowKind, list[Any]]]

_SIDES = {
    "c": (("after", RowKind.INSERT),),
    "r": (("after", RowKind.INSERT),),
    "u": (("before", RowKind.UPDATE_BEFORE), ("after", RowKind.UPDATE_AFTER)),
    "d": (("before", RowKind.DELETE),),
}


class DebeziumDecoder:
    """Makes kinds and values of the rows of a message."""

    def __init__(self, rows: JsonDecoder, *, skips_errors: bool) -> None:
        """Prepare."""
        self._rows = rows
        self._skips_errors = skips_errors

    def __call__(self, message: bytes | str) -> Changes:
        """Return the changes; none of a message that is skipped."""
        try:
            changes: Changes = of_json(message, self._changes)
        except TextError as cause:
            if self._skips_errors:
                return []
            is_before = str(cause) == _NO_BEFORE
            raise DecodeError(
                f"{shown(message)} cannot be read as a change of Debezium: {cause}",
                hint=_BEFORE if is_before else _HINT,
            ) from cause
        return changes

    def _changes(self, parsed: Any) -> Changes:
        if isinstance(parsed, dict) and "payload" in parsed:
            parsed = parsed["payload"]
        if not isinstance(parsed, dict):
            raise TextError("it is not an object")
        sides = _SIDES.get(str(parsed.get("op")))
        if sides is None:
            raise TextError(f"its op is {parsed.get('op')!r}, none of {', '.join(_SIDES)}")
        for side, _ in sides:
            if parsed.get(side) is None:
                raise TextError(f"it has no {side!r}")
        return [(kind, self._rows.values(parsed[side])) for side, kind in sides]


_NO_BEFORE = "it has no 'before'"
_BEFORE = "Let the database log whole rows: of PostgreSQL, ALTER TABLE … REPLICA IDENTITY FULL."


_HINT = "Correct 'format', or set 'debezium-json.ignore-parse-errors' = 'true'."


class DebeziumEncoder:
    """Writes rows of a changelog: what is new as `c`, what is gone as `d`, as Flink does."""

    def __init__(self, fields: Fields, *, is_iso: bool) -> None:
        """Prepare for rows of a type; see `JsonEncoder`."""
        self._rows = JsonEncoder(fields, is_iso=is_iso)

    def __call__(self, values: Sequence[Any], kind: RowKind) -> str:
        """Return the text of a change."""
        row = self._rows(values)
        if kind in {RowKind.INSERT, RowKind.UPDATE_AFTER}:
            return f'{{"before":null,"after":{row},"op":"c"}}'
        return f'{{"before":{row},"after":null,"op":"d"}}'

"""The format `debezium-json`: a message contains a row of a database before and after a change.

    {"before": {…}, "after": {…}, "op": "u", …}     c, r: after is new; u: it replaces before; d: before is gone

It becomes rows of a changelog: `+I`, `-U` and `+U`, `-D`. The schema that Kafka Connect may put around it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import DecodeError
from penstock.sql.tables.formats.json_format import JsonDecoder, JsonEncoder
from penstock.sql.tables.formats.texts import Fields
from penstock.types.row import RowKind
from penstock.wire.text import TextError, of_json, shown

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
        """Return the changes; none of a message that is skipped.

        Raises:
            DecodeError: It cannot be read.
        """
        try:
            found: Changes = of_json(message, self._changes)
        except TextError as cause:
            if self._skips_errors:
                return []
            is_before = str(cause) == _NO_BEFORE
            raise DecodeError(
                f"{shown(message)} cannot be read as a change of Debezium: {cause}",
                hint=_BEFORE if is_before else _HINT,
            ) from cause
        return found

    def _changes(self, found: Any) -> Changes:
        if isinstance(found, dict) and "payload" in found:
            found = found["payload"]
        if not isinstance(found, dict):
            raise TextError("it is no object")
        sides = _SIDES.get(str(found.get("op")))
        if sides is None:
            raise TextError(f"its op is {found.get('op')!r}, none of {', '.join(_SIDES)}")
        for side, _ in sides:
            if found.get(side) is None:
                raise TextError(f"it has no {side!r}")
        return [(kind, self._rows.values(found[side])) for side, kind in sides]


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

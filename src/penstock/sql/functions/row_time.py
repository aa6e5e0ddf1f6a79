"""The timestamp of a row: the value of a column."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.errors import TypeMismatchError
from penstock.types.row import Row

_MILLISECOND = dt.timedelta(milliseconds=1)
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of a time without zone
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class TimeOfRow:
    """Returns the timestamp of a row: the milliseconds of a column. One without a zone counts as UTC.

    Attributes:
        position: Of the column.
        name: Of the column.
        has_zone: Whether its values have a zone.
    """

    position: int
    name: str
    has_zone: bool

    def __call__(self, row: Row, _: int | None) -> int:
        """Return epoch milliseconds.

        Raises:
            TypeMismatchError: The column is NULL.
        """
        found = row[self.position]
        if found is None:
            raise TypeMismatchError(
                f"the row {row} has no time: {self.name!r} is NULL",
                hint="Correct the data, or compute the column of WATERMARK FOR so that it never is.",
            )
        millis: int = (found - (_EPOCH_UTC if self.has_zone else _EPOCH)) // _MILLISECOND
        return millis

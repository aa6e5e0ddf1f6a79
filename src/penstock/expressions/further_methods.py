"""Methods of columns beyond operators: of texts, dates and lists."""

from __future__ import annotations

from datetime import date
from typing import Any, Self


class FurtherMethods:
    """Base of `ColumnExpression`: functions whose first argument is the column."""

    __slots__ = ()

    def strip_start(self, characters: str = " ") -> Self:
        """Return a text without some characters at its begin."""
        return self._called("strip_start", characters)

    def strip_end(self, characters: str = " ") -> Self:
        """Return a text without some characters at its end."""
        return self._called("strip_end", characters)

    def pad_start(self, width: int, character: str = " ") -> Self:
        """Return a text with characters before it until it has `width` code points; a longer one stays."""
        return self._called("pad_start", width, character)

    def pad_end(self, width: int, character: str = " ") -> Self:
        """Return a text with characters behind it until it has `width` code points; a longer one stays."""
        return self._called("pad_end", width, character)

    def reverse(self) -> Self:
        """Return the code points of a text in reverse."""
        return self._called("reverse")

    def repeat(self, count: int) -> Self:
        """Return a text `count` times."""
        return self._called("repeat", count)

    def find(self, part: str) -> Self:
        """Return the position of a text in another, from 0; -1 if it is not there."""
        return self._called("find", part)

    def split(self, separator: str) -> Self:
        """Return the list of texts between the separators."""
        return self._called("split", separator)

    def quarter(self) -> Self:
        """Return the quarter, 1 to 4."""
        return self._called("quarter")

    def week(self) -> Self:
        """Return the week of the year as ISO 8601 counts, 1 to 53."""
        return self._called("week")

    def day_of_year(self) -> Self:
        """Return the day of the year, from 1."""
        return self._called("day_of_year")

    def days_since(self, other: Self | date) -> Self:
        """Return the days from another date to this one."""
        return self._beside("days_since", other)

    def list_contains(self, element: str | int) -> Self:
        """Return whether a list of texts or whole numbers has an element; NULL elements equal nothing."""
        return self._called("list_contains", element)

    def _called(self, function: str, *parameters: Any) -> Self:
        """Return a call for this column, with constants."""
        raise AssertionError(type(self).__name__)

    def _beside(self, function: str, other: Any) -> Self:
        """Return a call for this column and another value."""
        raise AssertionError(type(self).__name__)

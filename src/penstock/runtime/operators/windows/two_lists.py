"""Contents of windows over two inputs: one list per input, so that no record is stored with a tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.runtime.operators.windows.lists import ListContents
from penstock.state.schema.own_states import WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS
from penstock.types import TypeInformation


class TwoListContents:
    """The records of two inputs; they are added as (input, record)."""

    def __init__(
        self, spec: OperatorSpec, scope: KeyedScope, types: tuple[TypeInformation, TypeInformation]
    ) -> None:
        self._space = scope.context
        self._lists = [
            ListContents(spec, scope, element, name)
            for element, name in zip(types, (WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS), strict=True)
        ]

    def add(self, value: Any, timestamp: int) -> None:
        """Add a record."""
        self._lists[value[0]].add(value[1], timestamp)

    def add_all(self, values: Iterator[Any]) -> bool:
        """Add records; return whether there were none before."""
        is_new = not self.any_of((self._space.key,))
        for contents, records in zip(self._lists, two_lists(values), strict=True):
            if records:
                contents.add_all(iter(records))
        return is_new

    def elements(self, *, stays: bool) -> list[Any] | None:
        """Return the records, a list per input."""
        found = [contents.elements(stays=stays) or [] for contents in self._lists]
        return found if any(found) else None

    def clear(self) -> None:
        """Remove the contents."""
        for contents in self._lists:
            contents.clear()

    def merge(self, sources: Iterable[Any]) -> None:
        """Move the records of other windows to this one."""
        taken = list(sources)
        for contents in self._lists:
            contents.merge(taken)

    def combined(self, keys: Iterable[Any]) -> list[Any] | None:
        """Return the records of several panes, a list per input."""
        panes = list(keys)
        found = [contents.combined(panes) or [] for contents in self._lists]
        return found if any(found) else None

    def any_of(self, keys: Iterable[Any]) -> bool:
        """Return whether one of several panes has records."""
        panes = list(keys)
        return any(contents.any_of(panes) for contents in self._lists)


def two_lists(tagged: Iterable[Any]) -> list[Any]:
    """Return the records of (input, record) pairs, a list per input."""
    lists: list[Any] = [[], []]
    for number, record in tagged:
        lists[number].append(record)
    return lists

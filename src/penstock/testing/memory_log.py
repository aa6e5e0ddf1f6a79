"""A transactional change log in memory, in place of Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.testing.steps import Steps

_ALL = Steps()


class MemoryLog:
    """Implements `LogStorage`; the writes of an attempt stay only if it succeeds."""

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._entries: dict[int, bytes] = {}
        self._steps = _ALL

    @contextmanager
    def attempt(self, steps: Steps = _ALL) -> Iterator[None]:
        """Undo all writes of the context if it raises; each entry that is written is a step."""
        saved = self._head, dict(self._entries)
        self._steps = steps
        try:
            yield
        except BaseException:
            self._head, self._entries = saved
            raise
        finally:
            self._steps = _ALL

    def is_new(self) -> bool:
        """Return whether the log has never been written."""
        return self._head is None

    def size(self) -> int:
        """Return the bytes of all entries."""
        return sum(map(len, self._entries.values()))

    def read_head(self) -> bytes | None:
        """Return the stored head, None for a new log."""
        return self._head

    def write_head(self, data: bytes) -> None:
        """Replace the head."""
        self._head = data

    def read_entry(self, number: int) -> bytes | None:
        """Return one entry, None if it does not exist."""
        return self._entries.get(number)

    def write_entry(self, number: int, data: bytes) -> None:
        """Add one entry.

        Raises:
            AttemptFailed: The attempt must fail here.
        """
        self._steps.step()
        self._entries[number] = data

    def remove_entry(self, number: int) -> None:
        """Remove one entry."""
        del self._entries[number]

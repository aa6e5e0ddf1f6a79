"""Values of a server's streams.

Redis trims a stream from its beginning, and does not tell what it trimmed. So nothing is known to be lost as long as the
last entry that was read is there, or an older one; or if nothing was read, and the first entry that there is was the first one ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.redis.client import RedisAddress, client_of, library
from penstock.connectors.redis.values import id_of, position_of
from penstock.errors import SourceError

_MOST_ENTRIES = 1_000
_MISSING = "no such key"


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A stream, as it is now.

    Attributes:
        name: Its name.
        head: Position behind the newest entry that there ever was.
        first: Position of the first entry that there is; None if there is none.
        length: Number of its entries.
        is_whole: Whether no entry was ever removed.
    """

    name: str
    head: int
    first: int | None
    length: int
    is_whole: bool

    def check(self, position: int) -> None:
        """Refuse a position before which or behind which entries may have been trimmed unread.

        Raises:
            SourceError: They may.
        """
        if self.first is None:
            is_lost = self.head > position
        else:
            # A stream from which nothing was removed begins behind what was read: it was deleted, and made anew.
            is_lost = self.first > position and not (self.is_whole and position == 0)
        if is_lost:
            begins = "is empty" if self.first is None else f"begins at entry {id_of(self.first)}"
            raise SourceError(
                f"stream {self.name!r} {begins}, and the job has read up to {id_of(position)}: entries were trimmed, "
                "perhaps before they were read",
                hint="Keep entries for longer than the job may stand still, and never trim the last one that it has "
                "read. Start in a new checkpoint directory to read what is there.",
            )

    def cost(self, start: int, end: int) -> int:
        """Return how many entries a range has, about: as if all were at equal distances."""
        if self.first is None:
            return 0
        begin, stop = max(start, self.first), min(end, self.head)
        return -(-self.length * (stop - begin) // (self.head - self.first)) if begin < stop else 0


def facts_of(name: str, told: Any) -> StreamFacts:
    """Return what the answer to `XINFO STREAM` says."""
    found = {_text(key): value for key, value in told.items()}
    first, length = found["first-entry"], int(found["length"])
    head = position_of(found["last-generated-id"], name)
    added = found.get("entries-added")
    return StreamFacts(
        name,
        head + 1 if head or length else 0,
        None if not first else position_of(first[0], name),
        length,
        added is not None and int(added) == length,
    )


def streams_at(address: RedisAddress, names: Sequence[str]) -> list[StreamFacts]:
    """Return the streams that there are, of some names, in their order."""
    errors = library().ResponseError
    pipeline = client_of(address).pipeline(transaction=False)
    for name in names:
        pipeline.xinfo_stream(name)
    found = []
    for name, told in zip(names, pipeline.execute(raise_on_error=False), strict=True):
        if isinstance(told, errors) and _MISSING in str(told):
            continue
        if isinstance(told, Exception):
            raise told
        found.append(facts_of(name, told))
    return found


def names_like(address: RedisAddress, pattern: str) -> list[str]:
    """Return the names of the streams that match a pattern of Redis, in their order."""
    found: Iterator[bytes] = client_of(address).scan_iter(pattern, count=1_000, _type="stream")
    return sorted({_text(name) for name in found})


def entries_of(
    address: RedisAddress, name: str, start: int, end: int
) -> tuple[list[tuple[bytes, dict[bytes, bytes]]], int]:
    """Return the first entries of a range of positions, and the position behind them.

    Raises:
        SourceError: Some of them may have been trimmed.
    """
    # In one step: what is trimmed between two questions would be missing without a trace.
    pipeline = client_of(address).pipeline(transaction=True)
    pipeline.xinfo_stream(name)
    pipeline.xrange(name, id_of(start), id_of(end - 1), _MOST_ENTRIES)
    told, entries = pipeline.execute()
    facts_of(name, told).check(start)
    if len(entries) < _MOST_ENTRIES:
        return entries, end
    return entries, position_of(entries[-1][0], name) + 1


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value

"""The Redis source: streams of Redis or Valkey as a log, whose positions are the ids of entries.

Redis trims a stream from its beginning, without a record of the trimmed entries. The source has missed no entry as long as
the last entry that it read, or an older one, is there; or if it has read none, and the first entry is the first one ever.

Entries of streams, and their positions in the engine.

An id is `milliseconds-sequence`, a position `milliseconds << 20 | sequence`: room for a million entries in a
millisecond, until the year 2248. Ids that a program chose itself may be larger, and are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from penstock.connectors.redis.client import (
    RedisAddress,
    address_of,
    check_installed,
    client_of,
    library,
    redis_errors,
)
from penstock.errors import ArgumentError, CallSite, PenstockError, SourceError
from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogBatch, LogSplit
from penstock.types import TypeInformation
from penstock.types.types import Types
from penstock.user_failure import refusal_of, short

_SEQUENCE_BITS = 20
_MOST_SEQUENCES = 1 << _SEQUENCE_BITS
_MOST_MILLISECONDS = 1 << 43


@dataclass(frozen=True, slots=True)
class RedisEntry:
    """An entry of a stream.

    Attributes:
        id: Its id, e.g. `1700000000000-0`.
        fields: Field to value, as text; bytes if the source reads bytes.

    Example:
        >>> RedisEntry("orders", "1700000000000-0", {"customer": "ann"}).fields["customer"]
        'ann'
    """

    stream: str
    id: str
    fields: dict[Any, Any]


def position_of(entry_id: bytes | str, stream: str) -> int:
    """Return the position of an entry."""
    text = entry_id.decode() if isinstance(entry_id, bytes) else entry_id
    milliseconds, _, sequence = text.partition("-")
    first, second = int(milliseconds), int(sequence or 0)
    if first >= _MOST_MILLISECONDS or second >= _MOST_SEQUENCES:
        raise SourceError(
            f"entry {text} of stream {stream!r} has no position: milliseconds are below 2**43, and the sequence "
            f"below {_MOST_SEQUENCES}",
            hint="Let the server choose ids (XADD … *), or copy the stream with ids in these bounds.",
        )
    return first << _SEQUENCE_BITS | second


def id_of(position: int) -> str:
    """Return the id of a position."""
    return f"{position >> _SEQUENCE_BITS}-{position & _MOST_SEQUENCES - 1}"


def milliseconds_of(position: int) -> int:
    """Return the time in the id of a position, in epoch milliseconds."""
    return position >> _SEQUENCE_BITS


def first_of(timestamp_ms: int) -> int:
    """Return the first position of a time."""
    return min(max(timestamp_ms, 0), _MOST_MILLISECONDS - 1) << _SEQUENCE_BITS


_MOST_ENTRIES = 1_000
_MISSING = "no such key"


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A stream, as it is now.

    Attributes:
        head: Position behind the newest entry that there ever was.
        first: Position of the first entry that there is; None if there is none.
        is_whole: True if no entry was ever removed.
    """

    name: str
    head: int
    first: int | None
    length: int
    is_whole: bool

    def check(self, position: int) -> None:
        """Refuse a position before which or behind which entries may have been trimmed unread."""
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
        """Estimate the number of entries of a range, as if all were at equal distances."""
        if self.first is None:
            return 0
        begin, stop = max(start, self.first), min(end, self.head)
        return -(-self.length * (stop - begin) // (self.head - self.first)) if begin < stop else 0


def facts_of(name: str, reply: Any) -> StreamFacts:
    """Parse the reply to `XINFO STREAM`."""
    fields = {_text(key): value for key, value in reply.items()}
    first, length = fields["first-entry"], int(fields["length"])
    head = position_of(fields["last-generated-id"], name)
    added = fields.get("entries-added")
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
    streams = []
    for name, reply in zip(names, pipeline.execute(raise_on_error=False), strict=True):
        if isinstance(reply, errors) and _MISSING in str(reply):
            continue
        if isinstance(reply, Exception):
            raise reply
        streams.append(facts_of(name, reply))
    return streams


def names_like(address: RedisAddress, pattern: str) -> list[str]:
    """Return the names of the streams that match a pattern of Redis, in their order."""
    names: Iterator[bytes] = client_of(address).scan_iter(pattern, count=1_000, _type="stream")
    return sorted({_text(name) for name in names})


def entries_of(
    address: RedisAddress, name: str, start: int, end: int
) -> tuple[list[tuple[bytes, dict[bytes, bytes]]], int]:
    """Return the first entries of a range of positions, and the position behind them."""
    # In one step: what is trimmed between two calls would be missing without a trace.
    pipeline = client_of(address).pipeline(transaction=True)
    pipeline.xinfo_stream(name)
    pipeline.xrange(name, id_of(start), id_of(end - 1), _MOST_ENTRIES)
    reply, entries = pipeline.execute()
    facts_of(name, reply).check(start)
    if len(entries) < _MOST_ENTRIES:
        return entries, end
    return entries, position_of(entries[-1][0], name) + 1


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


_LATEST = -1
_known_facts: dict[tuple[RedisAddress, str], StreamFacts] = {}
"""The last result of the driver, for costs."""


@dataclass(frozen=True, slots=True)
class RedisSource(LogSource):
    """Reads streams of Redis or Valkey; records have the time in the id of their entry.

    Every entry is read once, in history and live. The records are `RedisEntry`, unless `map_entries` was called.

    Attributes:
        address: The server.
        names: Names of the streams; or one pattern.
        is_pattern: True if it is a pattern.
        start: Position where streams begin that are there when the job starts.
        ends: True if it ends at what is there when the job starts.
        is_binary: True if fields and values are bytes.
        function: Makes a record of an entry; None gives the entry.
        type_info: Type of the records.
        records_per_second: Limit of the rate of a live run; None reads as fast as it can.

    Example:
        >>> RedisSource.streams("redis://:secret@localhost:6379/0", "orders").describe()
        'redis stream orders'
        >>> url = "redis://localhost:6379/0"
        >>> every = RedisSource.pattern(url, "orders:*").binary().limited_to(1_000)
        >>> every.describe(), every.is_binary, every.records_per_second
        ('redis streams like orders:*', True, 1000)
        >>> since = RedisSource.streams(url, "orders").from_timestamp(1_700_000_000_000)
        >>> since.start == RedisSource.streams(url, "orders").from_id("1700000000000-0").start
        True
        >>> RedisSource.streams(url, "orders").from_latest().describe()
        'redis stream orders'
    """

    address: RedisAddress
    names: tuple[str, ...]
    is_pattern: bool = False
    start: int = 0
    ends: bool = False
    is_binary: bool = False
    function: Callable[[RedisEntry], Any] | None = None
    type_info: TypeInformation = Types.PICKLED_BYTE_ARRAY()  # noqa: RUF009 - a frozen value
    records_per_second: int | None = None

    kind: ClassVar[str] = "redis"

    @staticmethod
    def streams(url: str, *names: str) -> RedisSource:
        """Return a source of streams.

        Args:
            url: URL of the server: `redis://[[user]:password@]host:port/database`, `rediss://…` or `unix://…`.
            names: Their names. Those that are not there yet are read when they are.

        Raises:
            ArgumentError: The URL is none, or there are no names.
            MissingConnectorError: The package `redis` is not installed.
        """
        check_installed("RedisSource")
        if not names or any(not isinstance(name, str) or not name for name in names):
            raise ArgumentError.here(
                f"streams got {', '.join(map(repr, names)) or 'no names'}",
                hint="Pass the names of streams.",
            )
        return RedisSource(address_of(url), tuple(dict.fromkeys(names)))

    @staticmethod
    def pattern(url: str, pattern: str) -> RedisSource:
        """Return a source of all streams whose names match, also of those that appear later.

        Args:
            url: URL of the server, as for `streams`.
            pattern: A pattern of Redis, e.g. `orders:*`.

        Raises:
            ArgumentError: The URL is none, or the pattern no text.
            MissingConnectorError: The package `redis` is not installed.
        """
        return replace(RedisSource.streams(url, pattern), is_pattern=True)

    def from_latest(self) -> RedisSource:
        """Return the source without what is in streams when the job starts for the first time."""
        return replace(self, start=_LATEST)

    def from_id(self, entry_id: str) -> RedisSource:
        """Return the source from an entry on.

        Args:
            entry_id: Its id, e.g. `1700000000000-0`; the first entry from there on is read first.

        Raises:
            ArgumentError: It is no id.
        """
        try:
            return replace(self, start=position_of(entry_id, self.names[0]))
        except (ValueError, AttributeError, SourceError) as cause:
            raise ArgumentError.here(
                f"{entry_id!r} is not the id of an entry", hint="Pass milliseconds-sequence."
            ) from cause

    def from_timestamp(self, timestamp_ms: int) -> RedisSource:
        """Return the source from a time on.

        Args:
            timestamp_ms: In epoch milliseconds, as in the ids of entries.
        """
        return replace(self, start=first_of(timestamp_ms))

    def bounded(self) -> RedisSource:
        """Return the source with an end: what is there when the job starts."""
        return replace(self, ends=True)

    def binary(self) -> RedisSource:
        """Return the source with fields and values as bytes, not as text in UTF-8."""
        return replace(self, is_binary=True)

    def map_entries(
        self, function: Callable[[RedisEntry], Any], type_info: TypeInformation | None = None
    ) -> RedisSource:
        """Return the source with records that a function makes of entries.

        Args:
            function: Called with a `RedisEntry`.
            type_info: Type of what it returns; None is any.

        Raises:
            ArgumentError: It cannot be called.
        """
        if not callable(function):
            raise ArgumentError.here(
                f"map_entries got {function!r}", hint="Pass a function of a RedisEntry."
            )
        return replace(self, function=function, type_info=type_info or Types.PICKLED_BYTE_ARRAY())

    def limited_to(self, records_per_second: int) -> RedisSource:
        """Return the source with a limit of its rate in a live run.

        Args:
            records_per_second: Entries per second.
        """
        return replace(self, records_per_second=records_per_second)

    @property
    def is_bounded(self) -> bool:
        """True if it ends."""
        return self.ends

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self.type_info

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the streams with their heads; see `LogSource.discover`."""
        with self._errors(f"find {self.describe()}"):
            names = names_like(self.address, self.names[0]) if self.is_pattern else self.names
            streams = streams_at(self.address, list(dict.fromkeys([*known, *names])))
        for facts in streams:
            if facts.name in known:
                facts.check(known[facts.name])
            _known_facts[self.address, facts.name] = facts
        return [self._split(facts, known) for facts in streams]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return records of a range; see `LogSource.read`."""
        with self._errors(f"read stream {split!r}"):
            entries, following = entries_of(self.address, split, start, end)
        positions = [position_of(entry_id, split) for entry_id, _ in entries]
        records = [self._entry(split, entry_id, fields) for entry_id, fields in entries]
        times = [milliseconds_of(position) for position in positions]
        return LogBatch(self._mapped(records), following, times)

    def cost(self, split: str, start: int, end: int) -> int:
        """Return about how many entries a range has.

        Args:
            split: Name of the stream.
            start: First position.
            end: Position behind the last.
        """
        facts = _known_facts.get((self.address, split))
        if facts is None:
            with self._errors(f"find stream {split!r}"):
                streams = streams_at(self.address, [split])
            if not streams:
                return 0
            facts = _known_facts[self.address, split] = streams[0]
        return facts.cost(start, end)

    def position_at(self, split: str, timestamp_ms: int, start: int, end: int) -> int:
        """Return the first position of a range whose entry is not before a time, else its end.

        Args:
            split: Name of the stream.
            timestamp_ms: In epoch milliseconds.
            start: First position.
            end: Position behind the last.
        """
        begin = max(start, first_of(timestamp_ms))
        if begin >= end:
            return end
        with self._errors(f"read stream {split!r}"):
            entries, _ = entries_of(self.address, split, begin, end)
        return position_of(entries[0][0], split) if entries else end

    def datasets(self) -> Sequence[Dataset]:
        """Return its streams; a pattern is the name of all streams that match it."""
        return tuple(self.address.dataset(name) for name in self.names)

    def describe(self) -> str:
        """Return e.g. `redis stream orders`."""
        if self.is_pattern:
            return f"redis streams like {self.names[0]}"
        return f"redis stream{'s' if len(self.names) > 1 else ''} {', '.join(self.names)}"

    def _split(self, facts: StreamFacts, known: Mapping[str, int]) -> LogSplit:
        earliest = facts.head if facts.first is None else facts.first
        if facts.name in known:
            # It was checked; an id below the first entry that there is may be where the job stands.
            return LogSplit(facts.name, min(earliest, known[facts.name]), facts.head)
        # Streams that appear while the job runs are read from their beginning.
        start = 0 if known else facts.head if self.start == _LATEST else self.start
        return LogSplit(facts.name, earliest, facts.head, min(max(start, earliest), facts.head))

    def _entry(self, split: str, entry_id: bytes, fields: dict[bytes, bytes]) -> RedisEntry:
        text = entry_id.decode()
        if self.is_binary:
            return RedisEntry(split, text, dict(fields))
        try:
            decoded = {key.decode(): value.decode() for key, value in fields.items()}
        except UnicodeDecodeError as cause:
            raise SourceError(
                f"entry {text} of stream {split!r} has a field that is no text in UTF-8",
                hint="Call binary() to read bytes.",
            ) from cause
        return RedisEntry(split, text, decoded)

    def _mapped(self, entries: list[RedisEntry]) -> list[Any]:
        function = self.function
        if function is None:
            return entries
        records: list[Any] = []
        for entry in entries:
            try:
                records.append(function(entry))
            except PenstockError:
                raise
            except BaseException as cause:
                failed = f"the function of map_entries failed on entry {entry.id} of stream {entry.stream!r}, {short(entry.fields)}"
                origin = CallSite.of_definition(function)
                raise refusal_of(
                    SourceError, failed, cause, origin, hint="Correct the function."
                ) from cause
        return records

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return redis_errors(SourceError, self.address, doing)

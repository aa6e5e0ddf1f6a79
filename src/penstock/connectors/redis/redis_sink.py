"""The Redis sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.connectors.redis.client import RedisAddress, address_of, check_installed
from penstock.connectors.redis.redis_committer import RedisCommitter
from penstock.connectors.redis.staged_writes import RecordWrites, StagedWriteWriter
from penstock.errors import ArgumentError
from penstock.graph.dataset import Dataset
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.graph.kept_outside import KeptOutside

Fields = Callable[[Any], Mapping[Any, Any]]
"""A record to its fields."""


@dataclass(frozen=True, slots=True)
class RedisSink(Sink):
    """Writes records to Redis or Valkey, each exactly once: a script writes the records of an epoch, and its number.

    Attributes:
        address: The server.
        writes: How records become writes.
        most_entries: About how many entries a stream keeps; None is all.

    Example:
        >>> RedisSink.to_stream("redis://:secret@localhost:6379/0", "totals").describe()
        'redis stream totals'
    """

    address: RedisAddress
    writes: RecordWrites
    most_entries: int | None = None

    kind: ClassVar[str] = "redis"

    @staticmethod
    def to_stream(
        url: str, stream: str, fields: Fields | None = None, most_entries: int | None = None
    ) -> RedisSink:
        """Return a sink that adds an entry to a stream per record.

        Args:
            url: Of the server: `redis://[[user]:password@]host:port/database`, `rediss://…` or `unix://…`.
            stream: Name of the stream.
            fields: Makes the fields of a record; None takes those of a row or dict. Those that are None are left out.
            most_entries: About how many entries the stream keeps; None is all.

        Raises:
            ArgumentError: An argument is something else.
            MissingConnectorError: The package `redis` is not installed.

        Example:
            >>> RedisSink.to_stream("redis://localhost", "totals", most_entries=1_000).most_entries
            1000
        """
        check_installed("RedisSink")
        if not isinstance(stream, str) or not stream:
            raise ArgumentError.here(f"the stream is {stream!r}", hint="Pass its name.")
        if most_entries is not None and (not isinstance(most_entries, int) or most_entries < 1):
            raise ArgumentError.here(
                f"a stream cannot keep {most_entries!r} entries", hint="Pass 1 or more, or None."
            )
        _check_function(fields)
        return RedisSink(address_of(url), RecordWrites(stream=stream, fields=fields), most_entries)

    @staticmethod
    def to_hashes(
        url: str, key: Callable[[Any], str | bytes], fields: Fields | None = None
    ) -> RedisSink:
        """Return a sink of one hash per key: the newest record of a key replaces the one before.

        A row of kind `DELETE` deletes the hash, and one of kind `UPDATE_BEFORE` is left out.

        Args:
            url: Of the server, as for `to_stream`.
            key: Makes the name of the hash of a record.
            fields: Makes the fields of a record; None takes those of a row or dict. Those that are None are left out.

        Raises:
            ArgumentError: An argument is something else.
            MissingConnectorError: The package `redis` is not installed.

        Example:
            >>> RedisSink.to_hashes("redis://localhost", lambda row: f"total:{row.customer}").describe()
            'redis hashes'
        """
        check_installed("RedisSink")
        if not callable(key):
            raise ArgumentError.here(f"the key is {key!r}", hint="Pass a function of a record.")
        _check_function(fields)
        return RedisSink(address_of(url), RecordWrites(key=key, fields=fields))

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of staged records, for the task of `context`."""
        return StagedWriteWriter(self.writes, self.address, context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that writes epochs."""
        return RedisCommitter(self.address, self.most_entries, context)

    def kept_outside(self, context: SinkContext) -> Sequence[KeptOutside]:
        """Return the mark of the sink, if it is there.

        Raises:
            SinkError: The server does not answer.
        """
        return RedisCommitter(self.address, self.most_entries, context).kept_outside()

    def datasets(self) -> Sequence[Dataset]:
        """Return its stream; for hashes the database."""
        return (self.address.dataset(self.writes.stream),)

    def describe(self) -> str:
        """Return e.g. `redis stream totals`."""
        return (
            "redis hashes" if self.writes.stream is None else f"redis stream {self.writes.stream}"
        )


def _check_function(fields: Any) -> None:
    if fields is not None and not callable(fields):
        raise ArgumentError.here(
            f"the fields are {fields!r}", hint="Pass a function of a record, or None."
        )

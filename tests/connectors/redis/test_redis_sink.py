"""The Redis sink against a server, without Spark: what readers see after failures at every step of a commit.

Finds: a record lost or doubled by a crash in a commit, a driver that writes after it was replaced, a mark that was lost, a
part of an epoch. Cannot find what the power failure of a server does: it depends on `appendfsync`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.redis.server import RedisProcess
from penstock.connectors.redis import redis_sink
from penstock.connectors.redis.redis_sink import RecordWrites
from penstock.datastream.connectors import Committer, SinkContext
from penstock.datastream.connectors.redis import RedisSink
from penstock.errors import ArgumentError, JobFencedError, SinkError
from penstock.types.row import Row, RowKind
from tests.connectors.conftest import MakeContext
from tests.connectors.sink_epochs import killed_in_commit, staged, started
from tests.redis_server import OTHER, SECRET, Server, unavailable

STEPS = ("redis.decided", "redis.read", "redis.committed")


@pytest.fixture
def context(make_context: MakeContext) -> SinkContext:
    """A context of a job of its own."""
    return replace(make_context(), job_id=uuid.uuid4().hex)


def named(epoch: str) -> list[dict[str, Any]]:
    return [{"epoch": epoch, "n": str(n)} for n in range(4)]


def expected(*epochs: str) -> list[dict[str, Any]]:
    return [entry for epoch in epochs for entry in named(epoch)]


@pytest.mark.usefixtures("staged_both_ways")
def test_an_epoch_is_visible_as_a_whole_and_once(valkey: Server, context: SinkContext) -> None:
    name = valkey.name()
    sink = RedisSink.to_stream(valkey.url, name)
    committer = started(sink, context)
    second = staged(sink, context, *named("1")[2:], subtask=1)
    first = staged(sink, context, *named("1")[:2])
    assert valkey.entries(name) == []
    committer.commit("1", [*second, *first])
    assert valkey.entries(name) == expected("1")
    committer.commit("1", [])
    committer.commit("1", staged(sink, context, *named("other")))
    committer.commit("empty", [])
    committer.commit("2", staged(sink, context, *named("2")))
    assert valkey.entries(name) == expected("1", "2")
    again = started(sink, context)
    again.commit("2", staged(sink, context, *named("2")))
    again.commit("3", staged(sink, context, *named("3")))
    assert valkey.entries(name) == expected("1", "2", "3")


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_is_killed_at_a_step_leaves_what_the_next_one_completes(
    valkey: Server, context: SinkContext, tmp_path: Path, step: str
) -> None:
    name = valkey.name()
    sink = RedisSink.to_stream(valkey.url, name)
    started(sink, context).commit("1", staged(sink, context, *named("1")))
    handles = staged(sink, context, *named("2"))
    next_one = killed_in_commit(sink, context, handles, step, tmp_path)
    is_written = step == "redis.committed"
    assert valkey.entries(name) == (expected("1", "2") if is_written else expected("1"))
    next_one.commit("2", handles)  # what a record names is committed before the rest is dropped
    next_one.recover()
    next_one.commit("3", staged(sink, context, *named("3")))
    assert valkey.entries(name) == expected("1", "2", "3")


@pytest.mark.parametrize("other", ["2", "another"])
def test_of_two_drivers_one_writes_an_epoch(
    valkey: Server, context: SinkContext, other: str
) -> None:
    name = valkey.name()
    sink = RedisSink.to_stream(valkey.url, name)
    started(sink, context).commit("1", staged(sink, context, *named("1")))
    inner: list[Committer] = []

    def meanwhile() -> None:
        if inner:  # the other driver, at the last moment at which this one could be stopped
            inner.pop().commit(other, staged(sink, context, *named(other)))

    late = started(sink, replace(context, may_commit=meanwhile))
    inner.append(sink.create_committer(replace(context, subtask=-1)))
    handles = staged(sink, context, *named("2"))
    if other == "2":  # as if the answer to the first call had been lost
        late.commit("2", handles)
    else:
        with pytest.raises(SinkError, match="another driver has written"):
            late.commit("2", handles)
    assert valkey.entries(name) == expected("1", other)


def test_a_driver_that_was_replaced_writes_nothing(valkey: Server, context: SinkContext) -> None:
    def replaced() -> None:
        raise JobFencedError("replaced", hint="Stop.")

    name = valkey.name()
    sink = RedisSink.to_stream(valkey.url, name)
    started(sink, context)
    late = sink.create_committer(replace(context, may_commit=replaced))
    with pytest.raises(JobFencedError):
        late.commit("1", staged(sink, context, *named("1")))
    assert valkey.entries(name) == []


def test_a_mark_that_is_lost_is_told(valkey: Server, context: SinkContext) -> None:
    sink = RedisSink.to_stream(valkey.url, valkey.name())
    committer = started(sink, context)
    for epoch in "123":
        committer.commit(epoch, staged(sink, context, *named(epoch)))
    valkey.client.delete(f"penstock:epoch:{context.job_id}:{context.sink_id}")
    with pytest.raises(SinkError, match="epoch number 3, and redis has none"):
        started(sink, context)


def test_nothing_of_an_epoch_is_written_if_a_key_is_something_else(
    valkey: Server, context: SinkContext
) -> None:
    good, bad = valkey.name(), valkey.name()
    valkey.client.set(bad, "text")
    sink = RedisSink.to_hashes(valkey.url, lambda record: record["key"])
    committer = started(sink, context)
    handles = staged(sink, context, {"key": good, "n": 1}, {"key": bad, "n": 1})
    with pytest.raises(SinkError, match=f"a key is a string and no hash: {bad}"):
        committer.commit("1", handles)
    assert valkey.hash(good) == {}
    valkey.client.delete(bad)
    committer.commit("1", handles)
    assert valkey.hash(good) == {"key": good, "n": "1"}


def test_hashes_have_the_newest_record_and_deletions_delete(
    valkey: Server, context: SinkContext
) -> None:
    prefix = valkey.name()
    sink = RedisSink.to_hashes(valkey.url, lambda row: f"{prefix}:{row.key}")
    committer = started(sink, context)

    def row(kind: RowKind, key: str, **fields: Any) -> Row:
        return Row.of_kind(kind, key=key, **fields)

    rows = [
        row(RowKind.INSERT, "a", n=1, old="x"),
        row(RowKind.INSERT, "b", n=1),
        row(RowKind.UPDATE_BEFORE, "a", n=1),
        row(RowKind.UPDATE_AFTER, "a", n=2.5, flag=True, none=None),
        row(RowKind.DELETE, "b", n=1),
    ]
    committer.commit("1", staged(sink, context, *rows))
    assert valkey.hash(f"{prefix}:a") == {"key": "a", "n": "2.5", "flag": "true"}
    assert valkey.hash(f"{prefix}:b") == {}


def test_streams_keep_about_as_many_entries_as_they_may(
    valkey: Server, context: SinkContext
) -> None:
    name = valkey.name()
    sink = RedisSink.to_stream(valkey.url, name, most_entries=100)
    values = [{"n": n} for n in range(3_000)]
    writer = sink.create_writer(context)
    committer = started(sink, context)
    writer.write(values)
    committer.commit("1", writer.prepare_commit())
    assert 100 <= len(valkey.entries(name)) < 600


def test_bytes_and_large_records_arrive_as_they_are(valkey: Server, context: SinkContext) -> None:
    name = valkey.name()
    sink = RedisSink.to_stream(valkey.url, name, lambda record: record)
    wide: dict[Any, Any] = {f"f{n}": n for n in range(1_000)}
    binary = {b"\x00\xff": bytes(range(256)) * 300}
    started(sink, context).commit("1", staged(sink, context, binary, wide))
    found = [fields for _, fields in valkey.client.xrange(name)]
    assert found == [binary, {key.encode(): str(value).encode() for key, value in wide.items()}]


@pytest.fixture
def longest(valkey: Server) -> Iterator[int]:
    """A server that takes arguments of a megabyte."""
    before = valkey.client.config_get("proto-max-bulk-len")["proto-max-bulk-len"]
    valkey.client.config_set("proto-max-bulk-len", 1 << 20)
    yield 1 << 20
    valkey.client.config_set("proto-max-bulk-len", before)


def test_an_epoch_that_is_longer_than_an_argument_is_committed_in_pieces(
    valkey: Server, context: SinkContext, longest: int
) -> None:
    name = valkey.name()
    sink = RedisSink.to_stream(valkey.url, name)
    records = [{"n": str(n), "text": "x" * (longest // 3)} for n in range(10)]
    started(sink, context).commit("1", staged(sink, context, *records))
    assert valkey.entries(name) == records


def test_a_record_that_the_server_would_refuse_is_refused_where_it_is_staged(
    valkey: Server, context: SinkContext, longest: int
) -> None:
    sink = RedisSink.to_stream(valkey.url, valkey.name())
    started(sink, context)
    writer = sink.create_writer(context)
    writer.write([{"a": "x" * (longest - 100)}])
    with pytest.raises(SinkError, match="takes 1,048,576"):
        writer.write([{"a": "x" * longest}])
    writer.abort()


@given(
    st.lists(
        st.tuples(
            st.binary(max_size=9),
            st.dictionaries(st.text(max_size=3), st.text(max_size=9), min_size=1, max_size=3),
        )
    ),
    st.integers(1, 60),
)
def test_pieces_are_the_writes_and_as_long_as_they_may_be(
    records: list[tuple[bytes, dict[str, str]]], most: int
) -> None:
    writes = [RecordWrites(key=lambda r: r[0], fields=lambda r: r[1]).write_of(r) for r in records]
    longest = max([most, *(len(each or b"") for each in writes)])
    found = list(redis_sink.pieces(b"".join(each or b"" for each in writes), most))
    assert b"".join(found) == b"".join(each or b"" for each in writes)
    assert all(0 < len(each) <= longest for each in found)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (3, "its fields are 3, no dict"),
        ({}, "it has 0 fields"),
        ({"a": None}, "it has 0 fields"),
        ({f"f{n}": n for n in range(1_001)}, "it has 1001 fields"),
        ({"a": [1]}, "is not a text, number, boolean or bytes"),
        (Row.of_kind(RowKind.DELETE, a=1), "no form for a row that retracts"),
    ],
)
def test_a_record_that_cannot_be_written_is_told(
    valkey: Server, context: SinkContext, value: Any, problem: str
) -> None:
    sink = RedisSink.to_stream(valkey.url, valkey.name())
    started(sink, context)
    writer = sink.create_writer(context)
    with pytest.raises(SinkError, match=problem):
        writer.write([{"a": 1}, value])
    writer.abort()


@pytest.mark.parametrize(
    "raised", [StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt, ValueError]
)
def test_whatever_a_function_raises_is_told(
    valkey: Server, context: SinkContext, raised: type[BaseException]
) -> None:
    def failing(record: Any) -> Any:
        raise raised

    for sink in (
        RedisSink.to_stream(valkey.url, "s", failing),
        RedisSink.to_hashes(valkey.url, failing),
    ):
        with pytest.raises(SinkError, match=r"sink 'out' cannot write \{'a': 1\}"):
            sink.create_writer(context).write([{"a": 1}])


def test_a_server_that_is_stopped_and_started_loses_nothing(
    tmp_path: Path, context: SinkContext
) -> None:
    reason = unavailable()
    if reason is not None or OTHER in os.environ:
        pytest.skip(reason or "the other server cannot be stopped")
    process = RedisProcess(tmp_path, SECRET)
    process.start()
    try:
        server = Server(process.url)
        sink = RedisSink.to_stream(process.url, "s")
        committer = started(sink, context)
        committer.commit("1", staged(sink, context, *named("1")))
        handles = staged(sink, context, *named("2"))
        process.stop()
        with pytest.raises(SinkError) as error:
            committer.commit("2", handles)
        assert SECRET not in str(error.value)
        process.start()
        committer.commit("2", handles)
        assert server.entries("s") == expected("1", "2")
    finally:
        process.stop()


@pytest.mark.usefixtures("in_files")
def test_a_staged_file_that_is_lost_is_told(valkey: Server, context: SinkContext) -> None:
    sink = RedisSink.to_stream(valkey.url, valkey.name())
    committer = started(sink, context)
    (handle,) = staged(sink, context, *named("1"))
    path = context.scratch / "redis" / "s3" / "staged" / handle.name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SinkError, match="its task wrote"):
        committer.commit("1", [handle])
    path.unlink()
    with pytest.raises(SinkError, match="cannot read staged records"):
        committer.commit("1", [handle])


def test_a_wrong_call_is_refused_where_it_is_made() -> None:
    url = "redis://localhost"
    wrong: tuple[Callable[[], Any], ...] = (
        lambda: RedisSink.to_stream(url, ""),
        lambda: RedisSink.to_stream("localhost", "s"),
        lambda: RedisSink.to_stream(url, "s", most_entries=0),
        lambda: RedisSink.to_stream(url, "s", {}),  # type: ignore[arg-type]
        lambda: RedisSink.to_hashes(url, "key"),  # type: ignore[arg-type]
    )
    for call in wrong:
        with pytest.raises(ArgumentError) as error:
            call()
        assert error.value.origin is not None
        assert error.value.origin.filename == __file__

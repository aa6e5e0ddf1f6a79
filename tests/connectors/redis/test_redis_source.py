"""The Redis source against a server, without Spark: positions, starts, ends, discovery, what was trimmed.

Finds: an entry lost or doubled at a cut, a jump over entries that were trimmed, a start or an end at the wrong entry, a
password in a text. Cannot find what the live loop does with it: see `tests/spark`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.connectors.redis.client import RedisAddress
from penstock.connectors.redis.redis_source import id_of, position_of
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, HybridSource
from penstock.datastream.connectors.redis import RedisEntry, RedisSource
from penstock.errors import ArgumentError, SourceError
from penstock.testing import check_log_source, run_in_process
from tests.redis_server import SECRET, Server

AT_MS = 1_700_000_000_000


def number(entry: RedisEntry) -> int:
    return int(entry.fields["n"])


def of(valkey: Server, *names: str) -> RedisSource:
    return RedisSource.streams(valkey.url, *names).map_entries(number, Types.LONG())


def read(source: RedisSource, split: str, start: int, end: int) -> list[Any]:
    batches = source.exact_batches(split, start, end, 8192)
    return [record for records, _ in batches for record in records]


def all_of(source: RedisSource) -> list[Any]:
    """Read what is there now."""
    found = []
    for split in source.exact_discover({}):
        assert split.start is not None
        found += read(source, split.id, split.start, split.head)
    return found


def test_streams_keep_the_promises_of_a_log(valkey: Server) -> None:
    one, two = valkey.name(), valkey.name()
    valkey.add(one, *range(40), at_ms=AT_MS)
    valkey.add(two, *range(10))
    check_log_source(of(valkey, one, two))


def test_entries_are_read_once_wherever_a_range_is_cut(valkey: Server) -> None:
    name = valkey.name()
    valkey.add(name, *range(2_500), at_ms=AT_MS)
    valkey.client.xdel(name, f"{AT_MS + 7}-1")
    source = of(valkey, name)
    (split,) = source.exact_discover({})
    whole = read(source, name, split.earliest, split.head)
    assert whole == [n for n in range(2_500) if n != 7]
    chance = random.Random(1)  # noqa: S311
    for _ in range(10):
        cuts = sorted(chance.sample(range(split.earliest, split.head), 3))
        bounds = [split.earliest, *cuts, split.head]
        parts = [read(source, name, *each) for each in itertools.pairwise(bounds)]
        assert [record for part in parts for record in part] == whole
    assert source.exact_cost(name, split.earliest, split.head) == 2_499
    assert source.exact_cost(name, split.head, split.head) == 0
    assert source.exact_cost(name, split.head - 1, split.head) > 0


def test_starts_are_where_they_were_set(valkey: Server) -> None:
    name = valkey.name()
    valkey.add(name, *range(10), at_ms=AT_MS)
    source = of(valkey, name)
    expected = {
        source: range(10),
        source.from_latest(): range(0),
        source.from_id(f"{AT_MS + 4}-1"): range(4, 10),
        source.from_id(f"{AT_MS + 4}-2"): range(5, 10),
        source.from_id("1-0"): range(10),
        source.from_timestamp(AT_MS + 7): range(7, 10),
        source.from_timestamp(AT_MS + 70): range(0),
    }
    for each, numbers in expected.items():
        assert all_of(each) == list(numbers), each.start
    (split,) = source.exact_discover({})
    at = source.exact_position_at(name, AT_MS + 7, split.earliest, split.head)
    assert read(source, name, at, split.head) == [7, 8, 9]
    assert source.exact_position_at(name, AT_MS + 70, split.earliest, split.head) == split.head


def test_streams_that_appear_are_read_from_their_beginning(valkey: Server) -> None:
    prefix = valkey.name()
    source = RedisSource.pattern(valkey.url, f"{prefix}:*").from_latest()
    assert list(source.exact_discover({})) == []
    valkey.add(f"{prefix}:a", 1, 2)
    valkey.client.set(f"{prefix}:text", "no stream")
    (first,) = source.exact_discover({})
    assert first.start == first.head  # the job starts now
    (since,) = source.exact_discover({}, is_again=True)
    assert since.start == since.earliest  # it has started, before there was a stream
    valkey.add(f"{prefix}:b", 3)
    found = source.exact_discover({first.id: first.head})
    assert [split.id for split in found] == [f"{prefix}:a", f"{prefix}:b"]
    assert found[1].start == found[1].earliest < found[1].head


def test_entries_have_their_fields_and_times(valkey: Server) -> None:
    name = valkey.name()
    valkey.client.xadd(name, {"a": "ä", "b": b"\xff"}, f"{AT_MS}-5")
    source = RedisSource.streams(valkey.url, name)
    with pytest.raises(SourceError, match="has a field that is no text in UTF-8"):
        all_of(source)
    binary = source.binary()
    assert all_of(binary) == [RedisEntry(name, f"{AT_MS}-5", {b"a": "ä".encode(), b"b": b"\xff"})]
    (split,) = binary.exact_discover({})
    assert binary.read(name, split.earliest, split.head).timestamps == [AT_MS]


def test_entries_that_were_trimmed_are_told(valkey: Server) -> None:
    name = valkey.name()
    source = of(valkey, name)
    valkey.add(name, *range(10), at_ms=AT_MS)
    at = position_of(f"{AT_MS + 4}-1", name) + 1
    valkey.client.xtrim(name, minid=f"{AT_MS + 4}-1", approximate=False)
    (split,) = source.exact_discover({name: at})  # the last one that was read is there
    assert read(source, name, at, split.head) == [5, 6, 7, 8, 9]
    valkey.client.xtrim(name, minid=f"{AT_MS + 6}-0", approximate=False)
    for failing in (
        lambda: source.exact_discover({name: at}),
        lambda: read(source, name, at, split.head),
    ):
        with pytest.raises(SourceError) as error:
            failing()
        assert f"begins at entry {AT_MS + 6}-0, and the job has read up to" in error.value.problem
    valkey.client.xtrim(name, maxlen=0, approximate=False)
    with pytest.raises(SourceError, match="is empty, and the job has read up to"):
        source.exact_discover({name: at})
    assert source.exact_discover({name: split.head})[0].head == split.head
    valkey.client.delete(name)
    with pytest.raises(SourceError, match="is gone"):
        source.exact_discover({name: split.head})


def test_a_stream_that_was_deleted_and_made_anew_is_told(valkey: Server) -> None:
    name = valkey.name()
    valkey.add(name, *range(4), at_ms=AT_MS)
    source = of(valkey, name)
    (split,) = source.exact_discover({})
    at = position_of(f"{AT_MS + 1}-1", name) + 1  # two are not read yet
    valkey.client.delete(name)
    valkey.add(name, *range(9), at_ms=AT_MS + 100)
    for position in (at, split.head):
        with pytest.raises(SourceError, match="entries were trimmed, perhaps before"):
            source.exact_discover({name: position})


def test_a_stream_that_begins_empty_is_read(valkey: Server) -> None:
    name = valkey.name()
    valkey.client.xgroup_create(name, "g", mkstream=True)
    source = of(valkey, name)
    (split,) = source.exact_discover({})
    assert (split.earliest, split.head) == (0, 0)
    valkey.add(name, 1, 2)
    (split,) = source.exact_discover({name: 0})
    assert read(source, name, 0, split.head) == [1, 2]


def test_ids_without_a_position_are_told(valkey: Server) -> None:
    assert id_of(position_of("1700000000000-1048575", "s")) == "1700000000000-1048575"
    for entry_id in ("1-1048576", f"{2**43}-0"):
        name = valkey.name()
        valkey.client.xadd(name, {"n": 1}, entry_id)
        with pytest.raises(SourceError, match=f"entry {entry_id} of stream .* has no position"):
            of(valkey, name).exact_discover({})


def test_programs_read_history_and_go_on(valkey: Server) -> None:
    name = valkey.name()
    valkey.add(name, *range(20))
    for source in (of(valkey, name).bounded(), HybridSource.until_head(of(valkey, name).bounded())):
        env = StreamExecutionEnvironment.get_execution_environment()
        numbers = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "n")
        numbers.map(lambda n: n).sink_to(DiscardingSink()).name("out")
        assert sorted(run_in_process(env).of("out")) == list(range(20))


def test_no_text_has_the_password(valkey: Server) -> None:
    url = f"redis://user:{SECRET}%21@127.0.0.1:1/0?password={SECRET}"
    source = RedisSource.streams(url, "s")
    texts = [repr(source), source.describe()]
    with pytest.raises(SourceError) as error:
        source.exact_discover({})
    texts += [str(error.value), repr(error.value.__cause__)]
    assert "at redis://127.0.0.1:1/0" in error.value.problem
    address = RedisAddress(url)
    texts += [repr(address), address.masked(f"AUTH user {SECRET}! and {SECRET}%21")]
    assert [text for text in texts if SECRET in text] == []
    with pytest.raises(ArgumentError) as wrong:
        RedisSource.streams(f"http://:{SECRET}@host", "s")
    assert SECRET not in str(wrong.value)


@pytest.mark.parametrize(
    "raised", [StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt, ValueError]
)
def test_whatever_a_function_raises_is_told(valkey: Server, raised: type[BaseException]) -> None:
    def failing(entry: RedisEntry) -> Any:
        raise raised

    name = valkey.name()
    valkey.add(name, 1)
    with pytest.raises(SourceError, match="the function of map_entries failed on entry"):
        all_of(RedisSource.streams(valkey.url, name).map_entries(failing))


def test_a_wrong_call_is_refused_where_it_is_made() -> None:
    source = RedisSource.streams("redis://localhost", "s")
    wrong: tuple[Callable[[], Any], ...] = (
        lambda: RedisSource.streams("redis://localhost"),
        lambda: RedisSource.streams("localhost", "s"),
        lambda: source.from_id("now"),
        lambda: source.map_entries(3),  # type: ignore[arg-type]
    )
    for call in wrong:
        with pytest.raises(ArgumentError) as error:
            call()
        assert error.value.origin is not None
        assert error.value.origin.filename == __file__

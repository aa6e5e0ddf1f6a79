"""A changed program that cannot read a topic again, whose retention has passed: it starts empty, or from a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import failpoint
from penstock.api.environment.job import JobClient
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import EvolutionError, PenstockError
from penstock.observe.events.job_events import JobEvent, RoundFinished, StartedEmpty
from penstock.observe.events.listeners import JobListener, also_listening
from penstock.spark.upgrade.rounds import Rounds
from tests.kafka_broker import Broker
from tests.spark.conftest import Environment
from tests.spark.test_upgrade import written
from tests.spark.waiting import wait_for

ORDER = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
BEFORE, LATER, LAST = range(30), range(30, 36), range(36, 48)
"""Orders that the topic loses, that come while the table is read, and that come behind the upgrade."""


def key(n: int) -> str:
    return f"k{n % 3}"


def add(kafka: Broker, topic: str, orders: Sequence[int]) -> None:
    kafka.add(topic, *(json.dumps({"key": key(n), "n": n}).encode() for n in orders))


def start(
    env: StreamExecutionEnvironment, kafka: Broker, topic: str, base: Path, *, has_new: bool = False
) -> JobClient:
    """Start the job: counts of a key, and with `has_new` how often each count occurred."""
    rows = JsonRowDeserializationSchema.builder().type_info(ORDER).build()
    read = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(topic)
    orders = env.from_source(
        read.set_value_only_deserializer(rows).build(), WatermarkStrategy.no_watermarks(), "orders"
    ).uid("orders")
    pairs = orders.map(lambda order: (order.key, 1)).uid("pairs")
    counts = pairs.key_by(lambda r: r[0]).sum(1).uid("counts")
    texts = counts.map(lambda r: f"{r[0]} {r[1]}", Types.STRING()).uid("texts")
    texts.sink_to(FileSink.text(base / "out")).uid("out")
    if has_new:
        ones = counts.map(lambda r: (r[1], 1)).uid("ones")
        often = ones.key_by(lambda r: r[0]).sum(1).uid("often")
        shown = often.map(lambda r: f"{r[0]} x {r[1]}", Types.STRING()).uid("shown")
        shown.sink_to(FileSink.text(base / "new")).uid("new")
    return env.execute_async("orders")


def counts(orders: Sequence[int]) -> list[tuple[str, int]]:
    seen: Counter[str] = Counter()
    made = []
    for n in orders:
        seen[key(n)] += 1
        made.append((key(n), seen[key(n)]))
    return made


def often(made: Sequence[tuple[str, int]]) -> Counter[str]:
    """Return what the changed program writes for some counts, when it has read nothing before them."""
    times = Counter(count for _, count in made)
    return Counter(f"{count} x {n + 1}" for count, total in times.items() for n in range(total))


def texts(made: Sequence[tuple[str, int]]) -> Counter[str]:
    return Counter(f"{name} {count}" for name, count in made)


@pytest.fixture
def topic(kafka: Broker) -> str:
    return kafka.topic()


@pytest.fixture
def first(environment: Environment, kafka: Broker, topic: str, tmp_path: Path) -> JobClient:
    """Return a running job which has read records that the topic no longer has."""
    add(kafka, topic, BEFORE)
    client = start(environment("streaming"), kafka, topic, tmp_path)
    wait_for(client, lambda: written(tmp_path / "out") == texts(counts(BEFORE)))
    kafka.delete_before(topic, 0, 20)
    return client


def fails_at(places: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next starts fail at some places, once each."""
    markers = tmp_path / "markers"
    markers.mkdir()
    armed = ",".join(f"{place}:1:raise" for place in places)
    monkeypatch.setenv("PENSTOCK_FAILPOINT", armed)
    monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(markers))


def settings(tmp_path: Path, **choices: str) -> dict[str, Any]:
    return {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.evolution.from-job": str(tmp_path / "job"),
        "execution.evolution": "allow",
        "execution.evolution.short-round": "0 ms",
        **{f"execution.evolution.{name}": value for name, value in choices.items()},
    }


def test_new_operators_start_empty_behind_what_the_topic_has_lost(
    environment: Environment,
    kafka: Broker,
    topic: str,
    first: JobClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def again(**choices: str) -> JobClient:
        failpoint.count_anew()
        env = environment("streaming", **settings(tmp_path, **choices))
        return start(env, kafka, topic, tmp_path, has_new=True)

    with pytest.raises(EvolutionError, match="--start-empty orders") as refused:
        again()
    assert "--history orders=TABLE" in refused.value.problem
    assert not (tmp_path / "second").exists()
    add(kafka, topic, LATER)
    wait_for(first, lambda: written(tmp_path / "out").total() == 36)
    empty = {"start-empty": "orders"}
    places = ("bootstrap.state", "bootstrap.merged", "restore.copied")
    fails_at(places, tmp_path, monkeypatch)
    told: list[JobEvent] = []
    listener = JobListener()
    monkeypatch.setattr(listener, "on_event", told.append)
    with also_listening(listener):
        for _ in places:
            with pytest.raises(PenstockError, match="failpoint"):
                again(**empty)
        second = again(**empty)
    first.get_job_execution_result().result()
    warned = [event for event in told if isinstance(event, StartedEmpty)]
    assert {(each.source, tuple(each.parts)) for each in warned} == {
        ("orders", ("sum (uid often)", "sink files (uid new)"))
    }
    add(kafka, topic, LAST)
    whole = counts(range(48))
    wait_for(second, lambda: written(tmp_path / "new").total() >= len(LAST))
    wait_for(second, lambda: written(tmp_path / "out") == texts(whole))
    second.cancel()
    assert written(tmp_path / "new") == often(whole[36:])


def write_parquet(table: pa.Table, path: Path) -> None:
    path.mkdir()
    pq.write_table(table, path / "orders.parquet")


def write_delta(table: pa.Table, path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(path), table)


@pytest.mark.parametrize("write", [write_parquet, write_delta])
def test_new_operators_read_a_table_and_then_the_topic_in_rounds(
    environment: Environment,
    kafka: Broker,
    topic: str,
    first: JobClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[pa.Table, Path], None],
) -> None:
    table = tmp_path / "table"
    write(pa.table({"key": [key(n) for n in BEFORE], "n": list(BEFORE)}), table)
    chosen = Rounds.target

    def target(self: Rounds, path: Any) -> Any:
        """Let the job read more before the second round, and let the third be the last."""
        if path.name == "round-1" and written(tmp_path / "out").total() == len(BEFORE):
            add(kafka, topic, LATER)
            wait_for(first, lambda: written(tmp_path / "out").total() == 36)
        self.limit_seconds = 0.0 if path.name == "round-1" else 600.0
        return chosen(self, path)

    monkeypatch.setattr(Rounds, "target", target)
    places = ("batch.staged", "bootstrap.read", "bootstrap.advanced", "bootstrap.merged")
    fails_at(places, tmp_path, monkeypatch)

    def again(**others: str) -> JobClient:
        failpoint.count_anew()
        choices = others or {"history": f"orders={table}"}
        env = environment("streaming", **settings(tmp_path, **choices))
        return start(env, kafka, topic, tmp_path, has_new=True)

    told: list[JobEvent] = []
    listener = JobListener()
    monkeypatch.setattr(listener, "on_event", told.append)
    with also_listening(listener):
        for _ in places:
            with pytest.raises(PenstockError, match="failpoint"):
                again()
            with pytest.raises(EvolutionError, match="has begun with other choices"):
                again(**{"start-empty": "orders"})
        second = again()
    first.get_job_execution_result().result()
    read = [event for event in told if isinstance(event, RoundFinished)]
    assert read[-1].is_last
    assert len(LATER) in {each.records for each in read if each.kind == "live"}
    add(kafka, topic, LAST)
    whole = counts(range(48))
    wait_for(second, lambda: written(tmp_path / "new").total() >= len(whole))
    wait_for(second, lambda: written(tmp_path / "out") == texts(whole))
    second.cancel()
    assert written(tmp_path / "new") == often(whole)

"""The sinks and sources of a shadow, in its plan, and the digest that a discarded sink keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.common import SimpleStringSchema, Types, WatermarkStrategy
from penstock.connectors.delta.delta_sink import DeltaSink
from penstock.connectors.files.digest_sink import DigestSink, RowDigest, digest_of, recorded_digest
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.files.written_files import rows_of_files
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.postgres.postgres_source import PostgresSource
from penstock.connectors.python.function_sink import DiscardingSink, FunctionSink
from penstock.errors import ConfigError, SinkError, SourceError
from penstock.graph.endpoints import EpochNumber, Sink, SinkContext
from penstock.graph.source import Source
from penstock.plan.physical import PhysicalPlan
from penstock.spark.driver.confirmations import logs_read
from penstock.spark.sources.read_context import Pinned
from tests.runtime.jobs import STREAMING, Splits, environment

SCRATCH = Path("/no/scratch")
OTHER = FunctionSink(print, is_object=False)
KIND = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])


def planned(
    sinks: str, *written: Sink, source: Source | None = None, directory: str | None = "/jobs/new/"
) -> PhysicalPlan:
    place = {} if directory is None else {"execution.checkpointing.dir": directory}
    env = environment({**STREAMING, "execution.shadow": sinks, **place})
    rows = (
        env.from_collection([], KIND)
        if source is None
        else env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
    )
    for number, sink in enumerate(written):
        rows.sink_to(sink).uid(f"out/{number}")
    return env.plan()


def described(sinks: str, *written: Sink) -> list[str]:
    plan = planned(sinks, *written)
    return [sink.sink.describe() for sink in plan.sinks]


def test_files_and_tables_stay_what_they_are_and_others_become_lines_of_json() -> None:
    written = FileSink.parquet("/data/out"), DeltaSink.upsert("/data/table", keys=["k"])
    assert described("files", *written, OTHER, DiscardingSink()) == [
        "parquet files in /jobs/new/outputs/out%2F0",
        "delta table /jobs/new/outputs/out%2F1 by k",
        "json files in /jobs/new/outputs/out%2F2",
        "discard",
    ]


def test_discarded_sinks_keep_a_digest_in_the_form_of_their_files() -> None:
    assert described("discard", FileSink.csv("/data/out"), OTHER, DiscardingSink()) == [
        "digest of csv rows in /jobs/new/outputs/out%2F0",
        "digest of json rows in /jobs/new/outputs/out%2F1",
        "discard",
    ]


def test_a_job_that_is_no_shadow_writes_to_its_own_targets() -> None:
    assert described("off", FileSink.csv("/data/out")) == ["csv files in /data/out"]


@dataclass(frozen=True)
class BesideSink(Sink):
    kind: ClassVar[str] = "beside"
    made: Callable[[], Any]

    def create_writer(self, context: SinkContext) -> Any:
        raise AssertionError(context)

    create_committer = create_writer

    def beside(self, directory: str) -> Any:
        return self.made()


@dataclass(frozen=True, slots=True)
class BesideSource(Splits):
    made: Callable[[], Any] = list

    def beside(self) -> Any:
        return self.made()


@pytest.mark.parametrize(
    ("made", "problem"),
    [(lambda: 1 // 0, "division|ZeroDivisionError"), (lambda: "files", "it returned 'files'")],
)
def test_a_failure_of_beside_names_the_sink_or_source_and_its_line(
    made: Callable[[], Any], problem: str
) -> None:
    with pytest.raises(SinkError, match=problem) as of_sink:
        planned("files", BesideSink(made))
    with pytest.raises(SourceError, match=problem) as of_source:
        planned("files", DiscardingSink(), source=BesideSource((), made))
    for error, name in ((of_sink.value, "sink 'beside'"), (of_source.value, "source 'in'")):
        assert f"{name} failed on beside" in error.problem
        assert error.origin is not None
        assert error.origin.filename == __file__


def test_a_shadow_needs_a_checkpoint_directory() -> None:
    with pytest.raises(ConfigError, match=r"needs execution\.checkpointing\.dir"):
        planned("files", DiscardingSink(), directory=None)


def confirmed(source: Source, sinks: str) -> int:
    """Return how many logs of a source the job confirms."""
    plan = planned(sinks, DiscardingSink(), source=source)
    last = len(plan.sources[0].parts) - 1
    return len(logs_read(plan, Pinned(names={(plan.sources[0].id, last): ("a",)})))


def test_a_shadow_commits_no_offsets_of_a_group() -> None:
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:1").set_topics("orders")
    builder.set_value_only_deserializer(SimpleStringSchema())
    source = builder.set_group_id("shop").build()
    assert (confirmed(source, "off"), confirmed(source, "files")) == (1, 0)


def test_a_shadow_has_a_slot_of_its_own_and_confirms_it() -> None:
    builder = PostgresSource.builder().set_dsn("postgresql://localhost/shop").set_tables("orders")
    source = builder.set_slot("shop_orders").build()
    own = source.beside()
    assert (own.slot, source.slot) == ("shop_orders_shadow", "shop_orders")
    assert len(replace(source, slot="s" * 63).beside().slot) == 63
    assert confirmed(source, "files") == 1


def context(job: str, **further: Any) -> SinkContext:
    return SinkContext(job, "out", 0, KIND, "out", None, SCRATCH, epoch=EpochNumber(), **further)


@pytest.mark.parametrize(
    "form", [FileFormat.PARQUET, FileFormat.CSV, FileFormat.JSON, FileFormat.TEXT]
)
def test_a_digest_equals_that_of_the_files_whatever_the_order(
    tmp_path: Path, form: FileFormat
) -> None:
    pairs = [("a", 1), ("b", 2), ("a", 1), ("c", None)]
    rows: list[Any] = [str(pair) if form is FileFormat.TEXT else pair for pair in pairs]
    sink = DigestSink(str(tmp_path / "digest"), form)
    committer = sink.create_committer(context("job"))
    committer.recover()
    for epoch, some in (("0-0", rows[2:]), ("1-0", []), ("1-1", rows[:2])):
        writer = sink.create_writer(context("job"))
        writer.write(some)
        committables = writer.prepare_commit()
        committer.commit(epoch, committables)
        committer.commit(epoch, committables)
    files = FileSink(str(tmp_path / "files"), form)
    made = files.create_committer(context("job"))
    made.recover()
    writer = files.create_writer(context("job"))
    writer.write(rows)
    made.commit("0-0", writer.prepare_commit())
    expected = digest_of(rows_of_files(tmp_path / "files", form.value))
    assert recorded_digest(tmp_path / "digest") == expected
    assert expected.rows == 4
    assert expected != digest_of([[]]) == RowDigest()

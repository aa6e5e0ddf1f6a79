"""What a source is, its class says: the facts of each, and that nobody asks for the class instead."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

import penstock
from penstock.connectors.cache import CacheSource, ResultSource
from penstock.connectors.delta.delta_source import DeltaSource
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.kafka.client import KafkaProperties
from penstock.connectors.kafka.flink_kafka import FlinkKafkaConsumer
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.kafka.record_serialization import ValueDeserializer
from penstock.connectors.kafka.topics import KafkaTopics
from penstock.connectors.postgres.client import PostgresAddress
from penstock.connectors.postgres.postgres_source import PostgresSource
from penstock.connectors.postgres.values import TableName
from penstock.connectors.python.collection import CollectionSource, RecordedSource
from penstock.connectors.python.data_generator import DataGeneratorSource, NumberSequenceSource
from penstock.connectors.python.iterator_source import IteratorSource
from penstock.connectors.redis.client import RedisAddress
from penstock.connectors.redis.redis_source import RedisSource
from penstock.connectors.rows.serialization import SimpleStringSchema
from penstock.connectors.spark_source import SparkSource
from penstock.graph.backlog_end import BacklogEnd, LogSourcePart, SplitSourcePart
from penstock.graph.endpoints import LogSource, Source, SplitSource
from penstock.graph.hybrid import HybridSource, SnapshotPart
from penstock.graph.query_source import QueryRead, QuerySource, ScanRead, WholeQuery
from penstock.graph.source import PositionedSource
from penstock.graph.source_switch import SwitchColumns, SwitchedSource
from penstock.plan.phases.operator_traits import stored_output_of_source
from penstock.relation.tree import Scan, SqlColumn
from penstock.types import Types, sql_types
from tests.connectors.source_classes import source_classes
from tests.log_world import WorldLog

ROOT = Path(penstock.__file__).parent
TABLE = "spark/sources/table.py"
NOT_OURS = {
    ("api/environment/environment.py", "Source"),
    (
        "api/streams/dataframes.py",
        "SparkSource",
    ),  # a frame of Spark's own is part of the plan of another
    ("graph/hybrid.py", "PositionedSource"),
    ("graph/hybrid.py", "Source"),
    ("graph/source_switch.py", "LogSource"),
    ("spark/driver/batch_run.py", "SparkSource"),  # a DataFrame has a size, as files have
    ("plan/placement/expressions.py", "QuerySource"),  # that the plan has made, for its query
    ("spark/sources/source_reads.py", "QuerySource"),  # that the plan has made, for its query
    (
        "sql/lowering/lower.py",
        "QuerySource",
    ),  # that the plan has made: EXPLAIN looks for the queries of a script
    ("sql/tables/connectors/filesystem.py", "FileSource"),  # that this module has made
    ("testing/causes/user_functions.py", "Source"),  # an object that the user's code holds
    ("testing/law/own_samples.py", "FileSource"),  # read in this process, as the next
    ("testing/law/own_samples.py", "SplitSource"),
    ("testing/log_kit.py", "LogSource"),
}
"""File and class, where what is looked at may be anything that the user passed."""


class Frame:
    isStreaming = False  # noqa: N815 - as in Spark
    mapInArrow = None  # noqa: N815


INT = Types.INT()
NUMBERS = NumberSequenceSource(1, 3)
TEXT = SimpleStringSchema()
TABLE_OF_NUMBERS = Scan(name="t", table=None, columns=(SqlColumn("n", sql_types.INT),))
QUERY = WholeQuery(TABLE_OF_NUMBERS, (ScanRead(TABLE_OF_NUMBERS, QueryRead("t", NUMBERS, INT)),))
EXAMPLES: list[Source] = [
    CacheSource(0, INT),
    CollectionSource((1,), INT),
    DataGeneratorSource(str),
    FileSource("in", "text"),
    HybridSource((NUMBERS, NUMBERS)),
    DeltaSource(Path("/t"), pa.schema([("n", pa.int64())])),
    IteratorSource(lambda *_: ()),
    KafkaSource(KafkaTopics(("t",)), KafkaProperties(), ValueDeserializer(TEXT)),
    FlinkKafkaConsumer("t", TEXT, {"bootstrap.servers": "a:1"}),
    NUMBERS,
    QuerySource(QUERY, Types.ROW([INT])),
    RecordedSource.of([1], [7], INT),
    ResultSource("0", "totals", INT),
    RedisSource(RedisAddress("redis://a:1"), ("s",)),
    SparkSource(Frame()),
    SplitSourcePart(NUMBERS, BacklogEnd(positions=(1,)), is_backlog=True),
    LogSourcePart(WorldLog.of({}), BacklogEnd(positions=(1,)), is_backlog=False),
    SnapshotPart(WorldLog.of({})),
    SwitchedSource(lambda _: NUMBERS, SwitchColumns("at"), INT, ends=False, origin=None),
    PostgresSource(PostgresAddress("dbname=shop"), (TableName("public", "orders"),), "slot"),
]
FACTS = {
    "as_split": "cache collection delta generator iterator kafka kafka-consumer log-part part postgres recorded redis result sequence snapshot "
    "switched",
    "gives_results": "result",
    "gives_timestamps": "delta kafka kafka-consumer log-part postgres recorded redis result snapshot switched",
    "has_declared_form": "cache collection dataframe delta files hybrid kafka kafka-consumer part query recorded result sequence",
    "is_internal": "cache query result",
    "known_records": "collection sequence",
    "makes_records_anew": "cache dataframe delta files iterator kafka kafka-consumer part postgres query result sequence",
    "query_parts": "query",
    "read_in_batch_by": "files",
    "read_in_epochs_by": "dataframe files",
    "record_function": "generator",
    "takes_snapshot": "postgres",
}
"""Fact to the kinds of which it is true, or not None."""


def test_there_is_an_example_of_every_class():
    assert {type(each) for each in EXAMPLES} == set(source_classes())
    assert len({each.kind for each in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("fact", FACTS)
def test_facts(fact):
    true = {each.kind for each in EXAMPLES if getattr(each, fact) not in (False, None, ())}
    assert true == set(FACTS[fact].split())


def test_a_part_is_split_into_itself():
    assert all(each.as_split in (None, each) for each in EXAMPLES)


@dataclass(frozen=True, slots=True)
class Remembered(NumberSequenceSource):
    """Gives records that it keeps."""

    kind: ClassVar[str] = "remembered"

    def read(self, split, start, end):
        return KEPT[start:end]


@dataclass(frozen=True, slots=True)
class Renamed(NumberSequenceSource):
    kind: ClassVar[str] = "renamed"


@dataclass(frozen=True, slots=True)
class Promising(Remembered):
    makes_records_anew: ClassVar[bool] = True

    def read(self, split, start, end):
        return [[n] for n in range(start, end)]


KEPT = [[1], [2], [3]]


def test_the_promise_of_new_records_ends_with_another_way_of_reading():
    assert stored_output_of_source(Remembered(1, 3)).is_stored
    assert not stored_output_of_source(Renamed(1, 3)).is_stored
    assert not stored_output_of_source(Promising(1, 3)).is_stored


def test_a_part_keeps_what_its_source_keeps_and_its_reason_names_the_source():
    end = BacklogEnd(positions=(1,))
    assert not stored_output_of_source(SplitSourcePart(NUMBERS, end, is_backlog=True)).is_stored
    held = CollectionSource((1,), INT)
    kept = stored_output_of_source(SplitSourcePart(held, end, is_backlog=False))
    assert kept.reason == "a collection of 1 may give a record again"


def asked_classes(source: str) -> set[str]:
    """Return the names of classes for which a module asks whether a value is of them."""
    asked: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.MatchClass):
            asked.append(node.cls)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"isinstance", "issubclass"}
        ):
            asked.append(node.args[1])
    names = [each for expression in asked for each in ast.walk(expression)]
    return {n.id for n in names if isinstance(n, ast.Name)} | {
        n.attr for n in names if isinstance(n, ast.Attribute)
    }


def test_nobody_asks_for_the_class_of_a_source():
    classes: list[type] = [*source_classes(), Source, PositionedSource, SplitSource, LogSource]
    own = {cls.__name__: cls.__module__ for cls in classes}
    found = set()
    for file in ROOT.rglob("*.py"):
        name = str(file.relative_to(ROOT))
        module = "penstock." + name.removesuffix(".py").replace("/", ".")
        asked = asked_classes(file.read_text()) & own.keys()
        found |= {(name, cls) for cls in asked if own[cls] != module and name != TABLE}
    assert found == NOT_OURS


def test_a_question_for_the_class_is_noticed():
    assert asked_classes("isinstance(x, (A, b.C))") == {"A", "b", "C"}
    assert asked_classes("match x:\n    case A(y=1):\n        pass\n") == {"A"}

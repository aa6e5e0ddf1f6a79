"""Tables of topics: rows of records, records of rows, and scripts that read a broker."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from typing import Any

import pytest

from benchmarks.answers.coded_join_rows import expected
from benchmarks.inputs.binlog import ORDERS, REFUNDS
from penstock.common import Row, RowKind
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.kafka.record_serialization import RecordDeserializer
from penstock.connectors.kafka.values import KafkaRecord
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.testing import collect, run_in_process
from tests.kafka_broker import Broker
from tests.sql.test_coded_join import EXAMPLES, KEYS, RECORDS, SCRIPT, answer, lines

EVERYTHING = {"scan.startup.mode": "earliest-offset", "scan.bounded.mode": "latest-offset"}


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def table(columns: str, connector: str = "kafka", name: str = "t", **options: str) -> str:
    given = {"connector": connector, "properties.bootstrap.servers": "x:1", "topic": "t"}
    if connector == "kafka":
        given["scan.startup.mode"] = "earliest-offset"
    given |= {key.replace("__", "-").replace("_", "."): text for key, text in options.items()}
    shown = ", ".join(f"'{key}' = '{text}'" for key, text in given.items())
    return f"CREATE TABLE {name} ({columns}) WITH ({shown});"


def source_of(env: StreamExecutionEnvironment) -> Any:
    """Return the function that makes rows of records, of the only source of a program."""
    env.sql("SELECT * FROM t")
    (source,) = [node.source for node in env.graph.nodes() if node.source is not None]
    assert isinstance(source, KafkaSource)
    assert isinstance(source.deserializer, RecordDeserializer)
    return source.deserializer.function


def record(value: object, key: object = None, **fields: Any) -> KafkaRecord:
    def encoded(found: object) -> bytes | None:
        return None if found is None else json.dumps(found).encode()

    return KafkaRecord(encoded(key), encoded(value), **fields)


def test_columns_of_key_value_and_metadata(env):
    env.execute_sql(
        table(
            """o BIGINT METADATA FROM 'offset' VIRTUAL, k_id INT, name STRING, ts TIMESTAMP_LTZ(3) METADATA FROM
            'timestamp', h MAP<STRING, BYTES> METADATA FROM 'headers', topic STRING METADATA VIRTUAL""",
            value_format="json",
            key_format="json",
            key_fields="k_id",
            **{"key_fields-prefix": "k_", "value_fields-include": "EXCEPT_KEY"},
            properties_group_id="g",
        )
    )
    rows = source_of(env)
    found = rows(
        record(
            {"name": "tea"}, {"id": 7}, topic="t", offset=3, timestamp=1_000, headers=(("a", b"b"),)
        )
    )
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    assert found == Row(o=3, k_id=7, name="tea", ts=moment, h={"a": b"b"}, topic="t")
    assert rows(record(None, {"id": 7})) is None


def test_upserts_have_tombstones(env):
    env.execute_sql(
        table(
            "id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED",
            "upsert-kafka",
            key_format="json",
            value_format="json",
        )
    )
    rows = source_of(env)
    made, gone = rows(record({"id": 1, "n": 5}, {"id": 1})), rows(record(None, {"id": 1}))
    assert (made, made.get_row_kind()) == (
        _of(RowKind.UPDATE_AFTER, id=1, n=5),
        RowKind.UPDATE_AFTER,
    )
    assert gone == _of(RowKind.DELETE, id=1, n=None)
    assert env.sql_session.find(("t",)).schema.changelog.value == "upsert"


def _of(kind: RowKind, **fields: object) -> Row:
    row = Row(**fields)
    row.set_row_kind(kind)
    return row


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (table("a INT"), "lacks the option 'format'"),
        (
            table("a INT", format="json", key_format="json"),
            "has one of 'key.format' and 'key.fields'",
        ),
        (
            table("a INT", format="json", key_format="json", key_fields="b"),
            "has the key 'b', which is not a column",
        ),
        (table("a INT", "upsert-kafka", value_format="json", key_format="json"), "has no key"),
        (
            table("a INT PRIMARY KEY NOT ENFORCED", "upsert-kafka", value_format="json"),
            "lacks the option 'key.format'",
        ),
        (
            table(
                "a INT PRIMARY KEY NOT ENFORCED",
                "upsert-kafka",
                value_format="debezium-json",
                key_format="json",
            ),
            "has a format of changes",
        ),
        (
            table("a INT", format="json", scan_startup_mode="group-offsets"),
            "begins or ends at the offsets of its group",
        ),
        (
            table("a INT", format="json", scan_startup_mode="timestamp"),
            "scan.startup.timestamp-millis",
        ),
        (
            table(
                "a INT",
                format="json",
                **{"scan_startup_mode": "specific-offsets", "scan_startup_specific-offsets": "0:1"},
            ),
            "has the offsets '0:1'",
        ),
        (table("a INT", format="json", **{"topic-pattern": "x.*"}), "needs one of 'topic' and"),
        (table("a INT", format="jso"), "Use one of: json, csv, raw"),
        (table("a INT", format="json", scan_startup_mod="x"), "did you mean 'scan.startup.mode'"),
    ],
)
def test_what_a_table_cannot_be_is_told(env, statement, says):
    def read() -> None:
        env.execute_sql(statement)
        env.sql("SELECT * FROM t")

    with pytest.raises(SqlError) as caught:
        read()
    assert says in f"{caught.value.problem} {caught.value.hint}"


def topics(kafka: Broker, script: str, **names: str) -> str:
    """Return a script with the broker of a test, the names of its topics, and an end."""
    for name, topic in names.items():
        script = script.replace(f"'topic' = '{name}'", f"'topic' = '{topic}'")
    script = script.replace("localhost:9092", kafka.servers)
    return script.replace(
        "'scan.startup.mode' = 'earliest-offset'",
        ", ".join(f"'{key}' = '{value}'" for key, value in EVERYTHING.items()),
    )


def test_the_proposals_job_reads_topics(kafka, env, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    names = {}
    for each in (ORDERS, REFUNDS):
        topic = names[each.name] = kafka.topic(name=each.name)
        kafka.add(topic, *(line.encode() for line in lines(each)))
    env.sql_session.add(topics(kafka, SCRIPT, **names))
    found = expected(RECORDS, KEYS)
    assert answer(run_in_process(env).of("joined")) == (found.count, found.digest)


def test_changes_of_a_database(kafka, env):
    topic = kafka.topic(name="changes")
    rows = [{"id": n, "n": n} for n in range(3)]
    changes = [{"before": None, "after": row, "op": "c"} for row in rows]
    changes += [{"before": rows[1], "after": {"id": 1, "n": 9}, "op": "u"}]
    changes += [{"before": rows[2], "after": None, "op": "d"}]
    # None is what Debezium writes behind a deletion.
    kafka.add(topic, *(json.dumps(change).encode() for change in changes), None)
    script = table(
        "id INT, n INT", format="debezium-json", properties_bootstrap_servers="localhost:9092"
    )
    env.execute_sql(topics(kafka, script, t=topic))
    left: Counter[int] = Counter()
    for row in collect(env.sql("SELECT n + 1 AS n FROM t")):
        left[row.n] += 1 if row.get_row_kind() in {RowKind.INSERT, RowKind.UPDATE_AFTER} else -1
    assert +left == Counter({1: 1, 10: 1})


def test_records_of_rows(kafka, env):
    common = {"properties_bootstrap_servers": kafka.servers}
    plain, upserts = kafka.topic(), kafka.topic()
    env.execute_sql(
        table(
            "id INT, name STRING, at TIMESTAMP(3) METADATA FROM 'timestamp', o BIGINT METADATA FROM 'offset' VIRTUAL",
            name="plain",
            **common
            | {"topic": plain, "format": "json", "key_format": "raw", "key_fields": "name"},
        )
        + table(
            "id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED",
            "upsert-kafka",
            name="upserts",
            **common | {"topic": upserts, "key_format": "json", "value_format": "json"},
        )
    )
    at = dt.datetime(1970, 1, 1, 0, 0, 2)  # noqa: DTZ001 - no zone
    assert _written(env, "plain")(Row(id=1, name="tea", at=at)) == KafkaRecord(
        b"tea", b'{"id":1,"name":"tea"}', plain, timestamp=2_000
    )
    write = _written(env, "upserts")
    assert write(_of(RowKind.UPDATE_AFTER, id=1, n=5))[:2] == (b'{"id":1}', b'{"id":1,"n":5}')
    assert write(_of(RowKind.DELETE, id=1, n=5))[:2] == (b'{"id":1}', None)


def _written(env: StreamExecutionEnvironment, name: str) -> Any:
    """Return the function from a row to a record of the sink of a table."""
    found = env.sql_session.find((name,))
    return found._connector.sink(found._table).sink.serializer.function

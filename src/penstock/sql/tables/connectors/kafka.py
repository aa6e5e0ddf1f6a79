"""The connectors `kafka` and `upsert-kafka`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.config import parse
from penstock.connectors.epoch_marks import DeliveryGuarantee
from penstock.connectors.kafka.kafka_sink import KafkaSink
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.kafka.kafka_source_builder import KafkaSourceBuilder
from penstock.connectors.kafka.values import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from penstock.graph.hybrid import HybridSource
from penstock.graph.source_switch import SourceSwitch
from penstock.sql.tables.connectors.filesystem import COLUMN_FORMATS, changes_of_format, files_of
from penstock.sql.tables.connectors.kafka_rows import (
    WRITTEN,
    KeyedFormat,
    RecordsOfRows,
    RowsOfRecords,
)
from penstock.sql.tables.definition import (
    Connector,
    TableDefinition,
    TableSink,
    TableSource,
    Takes,
    upserts,
)
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOption, TableOptions
from penstock.sql.tables.rows import scaled_decimals
from penstock.types import sql_types as types
from penstock.types.types import Types

NAMES = tuple(FORMATS)
PLAIN = tuple(name for name, message_format in FORMATS.items() if not message_format.is_changelog)
MODES = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")

TOPIC = TableOption(
    "topic", parse.STRING, "Name of the topic; a source may have several, separated by `;`."
)
PATTERN = TableOption("topic-pattern", parse.STRING, "Regular expression of the topics to read.")
SERVERS = TableOption(
    "properties.bootstrap.servers", parse.STRING, "`host:port` of the brokers.", is_required=True
)
PROPERTIES = TableOption("properties.*", parse.STRING, "Properties of the clients.")
FORMAT = TableOption("format", parse.STRING, "Format of values.", choices=NAMES)
VALUE_FORMAT = TableOption("value.format", parse.STRING, "Other name of `format`.", choices=NAMES)
KEY_FORMAT = TableOption("key.format", parse.STRING, "Format of keys.", choices=PLAIN)
KEY_FIELDS = TableOption("key.fields", parse.STRING, "Columns of keys, separated by `;`.")
KEY_PREFIX = TableOption(
    "key.fields-prefix",
    parse.STRING,
    "Prefix of the names of these columns, which keys lack.",
)
INCLUDE = TableOption(
    "value.fields-include",
    parse.STRING,
    "Columns of values: all, or those that the key lacks.",
    default="ALL",
    choices=("ALL", "EXCEPT_KEY"),
)
START = TableOption(
    "scan.startup.mode",
    parse.STRING,
    "First position.",
    default="group-offsets",
    choices=MODES,
)
START_MILLIS = TableOption(
    "scan.startup.timestamp-millis", parse.INTEGER, "Time of the mode `timestamp`."
)
START_OFFSETS = TableOption(
    "scan.startup.specific-offsets",
    parse.STRING,
    "Offsets of that mode: `partition:0,offset:42;partition:1,offset:300`.",
)
END = TableOption(
    "scan.bounded.mode",
    parse.STRING,
    "Last position, or none.",
    default="unbounded",
    choices=("unbounded", *MODES[1:]),
)
END_MILLIS = TableOption(
    "scan.bounded.timestamp-millis", parse.INTEGER, "Time of the mode `timestamp`."
)
END_OFFSETS = TableOption("scan.bounded.specific-offsets", parse.STRING, "Offsets of that mode.")
DISCOVERY = TableOption(
    "scan.topic-partition-discovery.interval",
    parse.DURATION,
    "Time between searches for new partitions.",
)
GUARANTEE = TableOption(
    "sink.delivery-guarantee",
    parse.STRING,
    "Delivery guarantee.",
    default="at-least-once",
    choices=("exactly-once", "at-least-once", "none"),
)
PREFIX = TableOption("sink.transactional-id-prefix", parse.STRING, "Prefix of transactional ids.")
HISTORY = TableOption(
    "history.path",
    parse.STRING,
    "Ours. Files of history, before the topic.",
)
HISTORY_FORMAT = TableOption(
    "history.format",
    parse.STRING,
    "Ours. Format of these files.",
    default="parquet",
    choices=COLUMN_FORMATS,
)
HISTORY_TIME = TableOption(
    "history.timestamp-column",
    parse.STRING,
    "Ours. The topic begins behind the greatest value of this column in the files; by default at `scan.startup.mode`.",
)

COMMON = (TOPIC, SERVERS, PROPERTIES, VALUE_FORMAT, KEY_FORMAT, KEY_PREFIX, INCLUDE)
ENDS = (END, END_MILLIS, END_OFFSETS)
SINK = (GUARANTEE, PREFIX)
HISTORIES = (HISTORY, HISTORY_FORMAT, HISTORY_TIME)

METADATA = {
    "topic": (types.STRING,),
    "partition": (types.INT,),
    "offset": (types.BIGINT,),
    "timestamp": (types.TIMESTAMP_LTZ, types.TIMESTAMP),
    "headers": (types.SqlType("MAP", components=(types.STRING, types.BYTES)),),
}
"""Key of metadata to the types that it may be declared as."""


def _topics(table: TableDefinition) -> list[str]:
    return parse.parse_list(table.options.needed(TOPIC, "to find the topic"))


def _keyed(
    table: TableDefinition,
    columns: Mapping[str, int],
    name: str,
    side: str,
    chosen: tuple[str, ...],
) -> KeyedFormat:
    """Return a format with some of the columns."""
    message_format = FORMATS[name]
    kinds = dict(table.physical)
    prefix = (table.options.get(KEY_PREFIX) or "") if side == "key" else ""
    fields = tuple((column.removeprefix(prefix), kinds[column]) for column in chosen)
    begin = f"{side}.{name}."
    # `value.json.…` is the same as `json.…`, and of keys there is only `key.json.…`.
    own = {
        f"{name}.{key.removeprefix(begin)}": text
        for key, text in table.options.given.items()
        if key.startswith(begin)
    }
    shared = {} if side == "key" else dict(table.options.given)
    options = TableOptions(table.options.owner, {**shared, **own})
    return KeyedFormat(
        tuple(columns[column] for column in chosen),
        message_format.decoder(fields, options),
        message_format.encoder(fields, options),
        message_format.is_changelog,
    )


def _formats(
    table: TableDefinition, columns: Mapping[str, int], *, is_upsert: bool
) -> tuple[KeyedFormat | None, KeyedFormat]:
    """Return the formats of keys and values."""
    options = table.options
    value_name = options.get(VALUE_FORMAT) or options.get(FORMAT)
    if value_name is None:
        raise options.wrong("lacks the option 'format'", "Add it: the format of values.")
    names = tuple(name for name, _ in table.physical)
    key_name = options.get(KEY_FORMAT)
    if is_upsert:
        key_names = table.primary_key
        options.needed(KEY_FORMAT, "to read and write keys")
    else:
        key_names = tuple(parse.parse_list(options.get(KEY_FIELDS) or ""))
        if (key_name is None) != (not key_names):
            raise options.wrong(
                "has one of 'key.format' and 'key.fields'", "Set both of them, or none."
            )
    for name in key_names:
        if name not in names:
            raise options.wrong(f"has the key {name!r}, which is not a column", "Name columns.")
    has_all = options.value(INCLUDE) == "ALL"
    values = tuple(name for name in names if has_all or name not in key_names)
    key = None if key_name is None else _keyed(table, columns, key_name, "key", key_names)
    return key, _keyed(table, columns, value_name, "value", values)


def _builder(table: TableDefinition) -> KafkaSourceBuilder[KafkaSource]:
    options = table.options
    builder = KafkaSource.builder()
    pattern, topics = options.get(PATTERN), options.get(TOPIC)
    if (pattern is None) == (topics is None):
        raise options.wrong("needs one of 'topic' and 'topic-pattern'", "Set one of them.")
    builder = (
        builder.set_topics(*_topics(table))
        if pattern is None
        else builder.set_topic_pattern(pattern)
    )
    for key, text in options.family(PROPERTIES).items():
        builder.set_property(key, text)
    interval = options.get(DISCOVERY)
    if interval is not None:
        builder.set_property(
            "partition.discovery.interval.ms", str(int(interval.total_seconds() * 1000))
        )
    return builder


def _offsets(
    table: TableDefinition,
    mode: str,
    millis: TableOption[int],
    offsets: TableOption[str],
) -> KafkaOffsetsInitializer:
    options = table.options
    if mode == "timestamp":
        return KafkaOffsetsInitializer.timestamp(options.needed(millis, f"by the mode {mode}"))
    if mode == "specific-offsets":
        return _specific(table, options.needed(offsets, f"by the mode {mode}"))
    if mode == "group-offsets":
        has_group = "group.id" in options.family(PROPERTIES)
        if not has_group:
            raise options.wrong(
                "begins or ends at the offsets of its group, and has none",
                "Set 'properties.group.id', or 'scan.startup.mode' = 'earliest-offset'.",
            )
        reset = options.family(PROPERTIES).get("auto.offset.reset", "none").upper()
        return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])
    return _PLACES[mode]()


_PLACES: Mapping[str, Callable[[], KafkaOffsetsInitializer]] = {
    "earliest-offset": KafkaOffsetsInitializer.earliest,
    "latest-offset": KafkaOffsetsInitializer.latest,
}


def _specific(table: TableDefinition, text: str) -> KafkaOffsetsInitializer:
    (topic, *others) = _topics(table)
    try:
        pairs = [
            dict(part.split(":", 1) for part in entry.split(","))
            for entry in text.split(";")
            if entry.strip()
        ]
        offsets = {
            KafkaTopicPartition(topic, int(pair["partition"])): int(pair["offset"])
            for pair in pairs
        }
    except (ValueError, KeyError) as cause:
        raise table.options.wrong(
            f"has the offsets {text!r}", "Write partition:0,offset:42;partition:1,offset:300."
        ) from cause
    if others:
        raise table.options.wrong("has offsets and several topics", "Make a table per topic.")
    return KafkaOffsetsInitializer.offsets(offsets)


def _source(table: TableDefinition) -> TableSource:
    return _read(table, _options_start(table), is_upsert=False)


def _upsert_source(table: TableDefinition) -> TableSource:
    _check_key(table)
    return _read(table, KafkaOffsetsInitializer.earliest(), is_upsert=True)


def _options_start(table: TableDefinition) -> KafkaOffsetsInitializer:
    mode = table.options.value(START)
    return _offsets(table, mode, START_MILLIS, START_OFFSETS)


def _check_key(table: TableDefinition) -> None:
    if not table.primary_key:
        raise table.options.wrong(
            "is of the connector 'upsert-kafka' and has no key", "Add PRIMARY KEY (…) NOT ENFORCED."
        )


def _read(
    table: TableDefinition, start: KafkaOffsetsInitializer, *, is_upsert: bool
) -> TableSource:
    columns = {stored.column.name: position for position, stored in enumerate(table.stored)}
    key, value = _formats(table, columns, is_upsert=is_upsert)
    rows = RowsOfRecords(table, key, value, is_upsert=is_upsert)
    is_list = value.is_changelog
    if is_upsert and is_list:
        raise table.options.wrong("has a format of changes", "Use the connector 'kafka'.")
    row_type = Types.PICKLED_BYTE_ARRAY() if is_list else table.row_type
    builder = _builder(table).set_deserializer(rows, row_type).set_starting_offsets(start)
    mode = table.options.value(END)
    if mode != "unbounded":
        builder.set_bounded(_offsets(table, mode, END_MILLIS, END_OFFSETS))
    if is_list:
        return TableSource(builder.build(), _each)
    history = None if is_upsert else table.options.get(HISTORY)
    if history is None:
        return TableSource(builder.build())
    return TableSource(_after_history(table, history, builder), scaled_decimals(table.columns))


def _each(rows: list[Any]) -> list[Any]:
    return rows


def _after_history(
    table: TableDefinition, path: str, builder: KafkaSourceBuilder[KafkaSource]
) -> HybridSource:
    files = files_of(table, path, table.options.value(HISTORY_FORMAT)).source
    column = table.options.get(HISTORY_TIME)
    if column is None:
        return HybridSource.builder(files).add_source(builder.build()).build()

    def behind(switch: SourceSwitch) -> KafkaSource:
        since = KafkaOffsetsInitializer.timestamp(switch.next_timestamp)
        return builder.set_starting_offsets(since).build()

    return (
        HybridSource.builder(files)
        .add_source(behind, timestamp=column, is_bounded=table.options.value(END) != "unbounded")
        .build()
    )


def _written(table: TableDefinition, *, is_upsert: bool) -> TableSink:
    for written in table.written:
        if written.metadata_key is not None and written.metadata_key not in WRITTEN:
            raise table.options.wrong(
                f"has the metadata column {written.column.name!r}, which cannot be written",
                "Declare it as VIRTUAL.",
            )
    columns = {written.column.name: position for position, written in enumerate(table.written)}
    key, value = _formats(table, columns, is_upsert=is_upsert)
    topics = _topics(table)
    if len(topics) > 1:
        raise table.options.wrong("is written, and has several topics", "Name one topic.")
    builder = KafkaSink.builder().set_record_serializer(
        RecordsOfRows(table, topics[0], key, value, is_upsert=is_upsert)
    )
    for name, text in table.options.family(PROPERTIES).items():
        builder.set_property(name, text)
    guarantee = table.options.value(GUARANTEE).replace("-", "_").upper()
    builder.set_delivery_guarantee(DeliveryGuarantee[guarantee])
    prefix = table.options.get(PREFIX)
    if prefix is not None:
        builder.set_transactional_id_prefix(prefix)
    takes = Takes.CHANGES if value.is_changelog else Takes.INSERTS
    return TableSink(builder.build(), Takes.UPSERTS if is_upsert else takes)


def _sink(table: TableDefinition) -> TableSink:
    return _written(table, is_upsert=False)


def _upsert_sink(table: TableDefinition) -> TableSink:
    _check_key(table)
    return _written(table, is_upsert=True)


KAFKA = Connector(
    "kafka",
    "a topic, as rows that are added; changes with the format `debezium-json`",
    (
        *COMMON,
        PATTERN,
        FORMAT,
        KEY_FIELDS,
        *(START, START_MILLIS, START_OFFSETS),
        *ENDS,
        DISCOVERY,
        *HISTORIES,
        *SINK,
    ),
    _source,
    _sink,
    formats=NAMES,
    metadata=METADATA,
    changelog=changes_of_format,
)
UPSERT_KAFKA = Connector(
    "upsert-kafka",
    "a topic as a table by key: the newest value of a key is its row, and a tombstone removes it",
    (*COMMON, *ENDS, *SINK),
    _upsert_source,
    _upsert_sink,
    formats=PLAIN,
    metadata=METADATA,
    changelog=upserts,
)

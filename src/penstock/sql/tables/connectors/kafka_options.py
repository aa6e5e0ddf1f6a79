"""Options and metadata of the connectors `kafka` and `upsert-kafka`."""

from __future__ import annotations

from penstock.config import parse
from penstock.sql.tables.connectors.filesystem import COLUMN_FORMATS
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOption
from penstock.types import sql_types as types

NAMES = tuple(FORMATS)
PLAIN = tuple(name for name, found in FORMATS.items() if not found.is_changelog)
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

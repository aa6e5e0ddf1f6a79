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
    "topic", parse.STRING, "Name of the topic; of a source several with `;` between."
)
PATTERN = TableOption("topic-pattern", parse.STRING, "Regular expression of the topics to read.")
SERVERS = TableOption(
    "properties.bootstrap.servers", parse.STRING, "`host:port` of the brokers.", is_required=True
)
PROPERTIES = TableOption("properties.*", parse.STRING, "Properties of the clients.")
FORMAT = TableOption("format", parse.STRING, "Of values.", choices=NAMES)
VALUE_FORMAT = TableOption("value.format", parse.STRING, "The same as `format`.", choices=NAMES)
KEY_FORMAT = TableOption("key.format", parse.STRING, "Of keys.", choices=PLAIN)
KEY_FIELDS = TableOption(
    "key.fields", parse.STRING, "Columns that keys have, with `;` between them."
)
KEY_PREFIX = TableOption(
    "key.fields-prefix",
    parse.STRING,
    "Prefix of the names of these columns, which keys do not have.",
)
INCLUDE = TableOption(
    "value.fields-include",
    parse.STRING,
    "Whether values have the columns of the key, too.",
    default="ALL",
    choices=("ALL", "EXCEPT_KEY"),
)
START = TableOption(
    "scan.startup.mode",
    parse.STRING,
    "Where reading begins.",
    default="group-offsets",
    choices=MODES,
)
START_MILLIS = TableOption(
    "scan.startup.timestamp-millis", parse.INTEGER, "Of the mode `timestamp`."
)
START_OFFSETS = TableOption(
    "scan.startup.specific-offsets",
    parse.STRING,
    "Of that mode: `partition:0,offset:42;partition:1,offset:300`.",
)
END = TableOption(
    "scan.bounded.mode",
    parse.STRING,
    "Where reading ends; `unbounded` is never.",
    default="unbounded",
    choices=("unbounded", *MODES[1:]),
)
END_MILLIS = TableOption("scan.bounded.timestamp-millis", parse.INTEGER, "Of the mode `timestamp`.")
END_OFFSETS = TableOption("scan.bounded.specific-offsets", parse.STRING, "Of that mode.")
DISCOVERY = TableOption(
    "scan.topic-partition-discovery.interval",
    parse.DURATION,
    "How often new partitions are looked for.",
)
GUARANTEE = TableOption(
    "sink.delivery-guarantee",
    parse.STRING,
    "The delivery guarantee.",
    default="at-least-once",
    choices=("exactly-once", "at-least-once", "none"),
)
PREFIX = TableOption("sink.transactional-id-prefix", parse.STRING, "Prefix of transactional ids.")
HISTORY = TableOption(
    "history.path",
    parse.STRING,
    "Ours. Files that are read before the topic: history, which is read as a batch.",
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
    "Ours. The topic is read from the first record behind the greatest value of this column in the files; without it "
    "from the position of `scan.startup.mode`.",
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

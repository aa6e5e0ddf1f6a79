"""The connectors `jdbc` and `postgres-cdc`: a table of PostgreSQL, as it is or with its changes."""

from __future__ import annotations

from penstock.config import parse
from penstock.connectors.epoch_marks import DeliveryGuarantee
from penstock.connectors.postgres.beyond import CLAMP, ERROR, NONE
from penstock.connectors.postgres.client import PostgresAddress
from penstock.connectors.postgres.postgres_sink import PostgresSink
from penstock.connectors.postgres.postgres_source import PostgresSource
from penstock.sql.tables.definition import (
    Connector,
    TableDefinition,
    TableSink,
    TableSource,
    Takes,
    upserts,
)
from penstock.sql.tables.options import TableOption

_URL = TableOption("url", parse.STRING, "`jdbc:postgresql://host:port/database`.", is_required=True)
_TABLE = TableOption(
    "table-name", parse.STRING, "Name of the table, perhaps with its schema.", is_required=True
)
_USER = TableOption("username", parse.STRING, "User; by default that of the URL.")
_PASSWORD = TableOption(
    "password",
    parse.STRING,
    "Password; by default the one that libpq finds, such as PGPASSWORD.",
)
_DRIVER = TableOption("driver", parse.STRING, "Class of Java, without effect.")
_GUARANTEE = TableOption(
    "sink.delivery-guarantee",
    parse.STRING,
    "Ours. Delivery guarantee.",
    default="exactly-once",
    choices=("exactly-once", "at-least-once"),
)
_HOST = TableOption("hostname", parse.STRING, "Host of the server.", is_required=True)
_PORT = TableOption("port", parse.INTEGER, "Port of the server.", default=5432)
_DATABASE = TableOption("database-name", parse.STRING, "Name of the database.", is_required=True)
_SCHEMA = TableOption("schema-name", parse.STRING, "Schema of the table.", default="public")
_SLOT = TableOption("slot.name", parse.STRING, "Name of the replication slot.", is_required=True)
_PLUGIN = TableOption(
    "decoding.plugin.name",
    parse.STRING,
    "Plugin of the slot.",
    default="pgoutput",
    choices=("pgoutput",),
)
_PUBLICATION = TableOption(
    "debezium.publication.name",
    parse.STRING,
    "Existing publication; by default the job makes one.",
)
_BEYOND = TableOption(
    "scan.values-beyond-python",
    parse.STRING,
    "Ours. Dates and times such as `infinity` and `24:00:00`: an error, NULL, or the nearest value.",
    default=ERROR,
    choices=(ERROR, NONE, CLAMP),
)


def _address(table: TableDefinition) -> PostgresAddress:
    options = table.options
    url, user, password = options.value(_URL), options.get(_USER), options.get(_PASSWORD)
    return PostgresAddress.of_jdbc(url, user, password)


def _source(table: TableDefinition) -> TableSource:
    builder = PostgresSource.builder().set_dsn(_address(table).dsn)
    builder.set_tables(table.options.value(_TABLE)).set_upserts(table.row_type).set_bounded()
    builder.set_values_beyond_python(table.options.value(_BEYOND))
    return TableSource(builder.build())


def _sink(table: TableDefinition) -> TableSink:
    options = table.options
    builder = PostgresSink.builder().set_dsn(_address(table).dsn).set_table(options.value(_TABLE))
    builder.set_columns(*(name for name, _ in table.physical))
    if table.primary_key:
        builder.set_upsert_keys(*table.primary_key)
    guarantee = options.value(_GUARANTEE).replace("-", "_").upper()
    builder.set_delivery_guarantee(DeliveryGuarantee[guarantee])
    return TableSink(builder.build(), Takes.UPSERTS)


def _changes(table: TableDefinition) -> TableSource:
    options = table.options
    if not table.primary_key:
        raise options.wrong(
            "is of the connector 'postgres-cdc' and has no key",
            "Add PRIMARY KEY (…) NOT ENFORCED, with the key of the table in the database.",
        )
    url = f"jdbc:postgresql://{options.value(_HOST)}:{options.value(_PORT)}/{options.value(_DATABASE)}"
    address = PostgresAddress.of_jdbc(url, options.get(_USER), options.get(_PASSWORD))
    builder = PostgresSource.builder().set_dsn(address.dsn).set_slot(options.value(_SLOT))
    builder.set_tables(f"{options.value(_SCHEMA)}.{options.value(_TABLE)}")
    builder.set_values_beyond_python(options.value(_BEYOND))
    publication = options.get(_PUBLICATION)
    if publication is not None:
        builder.set_publication(publication)
    return TableSource(builder.set_upserts(table.row_type).build())


JDBC = Connector(
    "jdbc",
    "a table of PostgreSQL: read as it is when the job starts; written as rows come, or by key if it has a PRIMARY KEY",
    (_URL, _TABLE, _USER, _PASSWORD, _DRIVER, _GUARANTEE, _BEYOND),
    _source,
    _sink,
)
POSTGRES_CDC = Connector(
    "postgres-cdc",
    "a table of PostgreSQL and its changes: a snapshot, which is history, then the log of the database",
    (
        *(_HOST, _PORT, _DATABASE, _SCHEMA, _TABLE, _USER, _PASSWORD, _SLOT, _PLUGIN),
        *(_PUBLICATION, _BEYOND),
    ),
    _changes,
    None,
    changelog=upserts,
)

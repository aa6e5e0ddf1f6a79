"""The table of connectors, with `print` and `blackhole`, and the making of definitions from CREATE TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any

from penstock.config.parse import BOOLEAN, INTEGER, STRING
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.python.print_sink import PrintSink
from penstock.errors import did_you_mean
from penstock.extras import EXTRAS
from penstock.relation.tree import SqlColumn
from penstock.sql.statements import ColumnDefinition, ColumnKind, CreateTable
from penstock.sql.tables.connectors.datagen import DATAGEN
from penstock.sql.tables.connectors.filesystem import FILESYSTEM
from penstock.sql.tables.definition import (
    Connector,
    StoredColumn,
    TableDefinition,
    TableSink,
    Takes,
)
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOption, TableOptions, checked_options, owner_of

_IDENTIFIER = TableOption("print-identifier", STRING, "Prefix of every line.")
_ERRORS = TableOption(
    "standard-error", BOOLEAN, "Always `false`: lines go to standard output.", default=False
)


def _print(table: TableDefinition) -> TableSink:
    if table.options.get(_ERRORS):
        raise table.options.wrong("has 'standard-error' = 'true'", "Lines go to standard output.")
    sink = PrintSink(table.options.get(_IDENTIFIER), show_subtask=False)
    return TableSink(sink, Takes.CHANGES)


PRINT = Connector(
    "print",
    "a line per row on the standard output of the driver, such as `+I[ann, 5]`",
    (_IDENTIFIER, _ERRORS),
    None,
    _print,
)
BLACKHOLE = Connector(
    "blackhole",
    "a sink that drops all rows",
    (),
    None,
    lambda _: TableSink(DiscardingSink(), Takes.CHANGES),
)


CONNECTOR = TableOption("connector", STRING, "Connector of the table.", is_required=True)

SCAN_PARALLELISM = TableOption(
    "scan.parallelism",
    INTEGER,
    "Number of subtasks that read the table; by default that of the job.",
)
SINK_PARALLELISM = TableOption(
    "sink.parallelism",
    INTEGER,
    "Number of subtasks that write the table; by default that of its rows.",
)


def connectors() -> dict[str, Connector]:
    """Return name to connector: those that need no other system, and those of the table of extras."""
    own = (DATAGEN, FILESYSTEM, PRINT, BLACKHOLE)
    of_systems = (resolve_name(name) for extra in EXTRAS.values() for name in extra.tables)
    return {connector.name: connector for connector in (*own, *of_systems)}


def defined(table: CreateTable) -> tuple[Connector, TableDefinition]:
    """Return the connector of a table, and the table as the connector sees it."""
    owner = owner_of(table.name, table.place)
    given = TableOptions(owner, dict(table.options))
    name = given.needed(CONNECTOR, "to find its connector")
    known = connectors()
    connector = known.get(name)
    if connector is None:
        near = did_you_mean(name, tuple(known))
        raise given.wrong(
            f"has the connector {name!r}, which there is not{near}",
            f"Use one of: {', '.join(known)}.",
        )
    options = checked_options(owner, table.options, declared_options(connector))
    definition = TableDefinition(
        name=".".join(table.name),
        stored=tuple(
            _stored(column, connector, options)
            for column in table.columns
            if column.kind is not ColumnKind.COMPUTED
        ),
        primary_key=table.primary_key,
        partitioned_by=table.partitioned_by,
        options=options,
    )
    _check_names(table, options)
    if table.partitioned_by and not connector.is_partitioned:
        raise options.wrong(
            f"has PARTITIONED BY, and {connector.name} has no partitions", "Remove it."
        )
    return connector, definition


def declared_options(connector: Connector) -> Sequence[TableOption[Any]]:
    """Return all options that a table of a connector may have."""
    options = [CONNECTOR, *connector.options]
    options += [SCAN_PARALLELISM] if connector.source is not None else []
    options += [SINK_PARALLELISM] if connector.sink is not None else []
    for name in connector.formats:
        own = FORMATS[name].options
        options += own
        if any(option.key == "key.format" for option in connector.options):
            options += [
                TableOption(f"key.{option.key}", option.parse, option.description) for option in own
            ]
            options += [
                TableOption(f"value.{option.key}", option.parse, option.description)
                for option in own
            ]
    return options


def _stored(column: ColumnDefinition, connector: Connector, options: TableOptions) -> StoredColumn:
    assert column.type is not None, "it is not computed"
    key = column.metadata_key
    if key is None:
        return StoredColumn(SqlColumn(column.name, column.type))
    known = connector.metadata or {}
    if key not in known:
        raise options.wrong(
            f"has the metadata {key!r}, which {connector.name} has not{did_you_mean(key, tuple(known))}",
            f"Use one of: {', '.join(known)}." if known else "Remove the column.",
        )
    if column.type not in known[key]:
        raise options.wrong(
            f"has the metadata {key!r} as {column.type}",
            f"Declare it as {' or '.join(map(str, known[key]))}.",
        )
    return StoredColumn(SqlColumn(column.name, column.type), key, column.is_virtual)


def _check_names(table: CreateTable, options: TableOptions) -> None:
    names = [column.name for column in table.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise options.wrong(f"has the column {twice!r} twice", "Remove one of them.")
    physical = [column.name for column in table.columns if column.kind is ColumnKind.PHYSICAL]
    for what, columns in (
        ("PRIMARY KEY", table.primary_key),
        ("PARTITIONED BY", table.partitioned_by),
    ):
        for name in columns:
            if name not in physical:
                raise options.wrong(
                    f"has {what} of {name!r}, which is not a column of its records"
                    f"{did_you_mean(name, tuple(physical))}",
                    f"Use some of: {', '.join(physical)}.",
                )
    if not physical:
        raise options.wrong("has no columns", "Declare some.")

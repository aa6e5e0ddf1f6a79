"""The connector `delta`: a Delta table."""

from __future__ import annotations

from penstock.config import parse
from penstock.connectors.delta.delta_sink import DeltaSink
from penstock.connectors.delta.delta_source import DeltaSource
from penstock.relation.tree import Changelog
from penstock.sql.tables.definition import (
    Connector,
    TableDefinition,
    TableSink,
    TableSource,
    Takes,
)
from penstock.sql.tables.options import TableOption

_PATH = TableOption("table-path", parse.STRING, "Directory of the table.", is_required=True)
_MODE = TableOption(
    "mode",
    parse.STRING,
    "Read the current table, or later additions, too.",
    default="batch",
    choices=("batch", "streaming"),
)
_AS_OF = TableOption("versionAsOf", parse.INTEGER, "Version to read as a whole.")
_FROM = TableOption("startingVersion", parse.INTEGER, "First version whose rows are read.")
_FEED = TableOption(
    "readChangeFeed",
    parse.BOOLEAN,
    "Ours. Read updates and deletions, too; the table needs its change data feed.",
    default=False,
)


def _source(table: TableDefinition) -> TableSource:
    options = table.options
    source = DeltaSource.table(options.value(_PATH))
    known = source.get_produced_type()
    missing = [name for name, _ in table.physical if name not in source.schema.names]
    if missing:
        raise options.wrong(
            f"has the column {missing[0]!r}, which is not in {known}",
            "Declare columns that it has.",
        )
    source = source.columns(*(name for name, _ in table.physical))
    if source.get_produced_type() != table.row_type:
        raise options.wrong(
            f"has columns of the types {table.row_type}, and the table has {source.get_produced_type()}",
            "Declare its types.",
        )
    as_of, first = options.get(_AS_OF), options.get(_FROM)
    if as_of is not None and first is not None:
        raise options.wrong(f"has both {_AS_OF.key!r} and {_FROM.key!r}", "Set one of them.")
    if as_of is not None:
        source = source.at_version(as_of)
    if first is not None:
        source = source.from_version(first)
    if options.get(_FEED):
        source = source.change_feed()
    if options.value(_MODE) == "batch":
        source = source.bounded(as_of) if as_of is not None else source.bounded()
    return TableSource(source)


def _changelog(table: TableDefinition) -> Changelog:
    return Changelog.RETRACT if table.options.get(_FEED) else Changelog.INSERT_ONLY


def _sink(table: TableDefinition) -> TableSink:
    path, by = table.options.value(_PATH), table.partitioned_by
    if table.primary_key:
        return TableSink(DeltaSink.upsert(path, table.primary_key, by), Takes.UPSERTS)
    return TableSink(DeltaSink.append(path, by), Takes.UPSERTS)


DELTA = Connector(
    "delta",
    "a Delta table: an epoch is one version; written by key if it has a PRIMARY KEY",
    (_PATH, _MODE, _AS_OF, _FROM, _FEED),
    _source,
    _sink,
    changelog=_changelog,
    is_partitioned=True,
)

"""The connectors `print` and `blackhole`."""

from __future__ import annotations

from penstock.config.parse import BOOLEAN, STRING
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.python.print_sink import PrintSink
from penstock.sql.tables.definition import Connector, TableDefinition, TableSink, Takes
from penstock.sql.tables.options import TableOption

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

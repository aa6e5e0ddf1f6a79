"""The job of the proposal CodedRowData, as `examples/coded_join.sql`: from memory and from a broker. The script for files is compared as text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.answers.coded_join_rows import NO_MATCH, expected
from benchmarks.inputs.binlog import ORDERS, REFUNDS
from benchmarks.model.digest import as_text, digest_of
from penstock.common import Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import Schedule, run_in_process

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SCRIPT = (EXAMPLES / "coded_join.sql").read_text()
FILES = (EXAMPLES / "coded_join_files.sql").read_text()
SAME = "-- From here on"
RECORDS, KEYS = 60, 40


@pytest.fixture(autouse=True)
def _functions(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)


def lines(table) -> list[str]:
    return [table.line(index, KEYS) for index in range(RECORDS)]


def answer(rows):
    """Return how many rows are left, and a digest of their offsets."""
    import numpy as np  # noqa: PLC0415 - of this function only

    left: Counter[tuple[int, int]] = Counter()
    for row in rows:
        refund = NO_MATCH if row.refund_offset is None else row.refund_offset
        is_added = row.get_row_kind() in {RowKind.INSERT, RowKind.UPDATE_AFTER}
        left[row.offset, refund] += 1 if is_added else -1
    assert min(left.values()) >= 0
    pairs = [*left.elements()]
    columns = [np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True)]
    return len(pairs), as_text(digest_of(*columns))


def wanted():
    found = expected(RECORDS, KEYS)
    return found.count, found.digest


def test_the_scripts_differ_in_their_tables_only():
    assert SCRIPT.partition(SAME)[2] == FILES.partition(SAME)[2]
    assert SCRIPT.count("CREATE TABLE") == FILES.count("CREATE TABLE") == 3


@pytest.mark.parametrize("coded", ["true", "false"])
@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_the_join_is_that_of_the_facts(mode, coded):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.execute_sql(
        f"SET 'execution.runtime-mode' = '{mode}'; SET 'table.exec.enable-coded-rowdata' = '{coded}'"
    )
    message = Types.ROW_NAMED(
        ["message", "offset"], [Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.LONG()]
    )
    for name, table in (("orders_log", ORDERS), ("refunds_log", REFUNDS)):
        rows = [Row(message=line.encode(), offset=n) for n, line in enumerate(lines(table))]
        env.create_view(name, env.from_collection(rows, message))
    functions, _, rest = SCRIPT.partition("CREATE TABLE orders_log")
    env.sql_session.add(functions + rest.partition(SAME)[2].partition("\n")[2])
    schedule = Schedule(batch_sizes=(7,)) if mode == "STREAMING" else None
    assert answer(run_in_process(env, schedule).of("joined")) == wanted()

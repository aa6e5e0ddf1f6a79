"""The law of SQL: the final table of a query is the same in every mode, and that of DuckDB over the final tables.

DuckDB shares no code with this, so it finds wrong answers; the modes find answers that depend on batches, order or restarts. Both
see tables that change: rows that come and go.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace

import pytest

from penstock.common import WatermarkStrategy
from tests.sql.generated import TABLES, QueryMaker, changing_table, duckdb_answer, for_penstock
from tests.sql.ways import FORMS, WAYS, GivenTable, final_rows


def answer(query, tables, way, written_for=None):
    """Return the final table of a query."""
    no_time = WatermarkStrategy.no_watermarks()
    given = {table.name: GivenTable(table.type_info, table.changes, no_time) for table in tables}
    return final_rows(for_penstock(query), given, way, written_for)


def check(seed, names):
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    tables = [changing_table(rng, name, is_changing=rng.random() < 0.7) for name in TABLES]
    query = QueryMaker(rng).query()
    used = [table for table in tables if f" {table.name} AS" in query]
    wanted = sorted(duckdb_answer(query, tables), key=repr)
    for name in names:
        way = replace(WAYS[name], **FORMS[seed // 4 % len(FORMS)])
        assert sorted(answer(query, used, way), key=repr) == wanted, (seed, way, query)


@pytest.mark.parametrize("seed", range(40))
def test_final_tables_are_equal(seed):
    check(seed, ("batch", tuple(WAYS)[1 + seed % 4]))


@pytest.mark.parametrize("seed", [each for each in range(40) if each % 5 == 0])
def test_operators_of_batch_mode_are_right_in_every_mode(seed):
    """The mode may change between the query and the run."""
    rng = random.Random(seed)  # noqa: S311
    tables = [changing_table(rng, name, is_changing=False) for name in TABLES]
    query = QueryMaker(rng).group()
    used = [table for table in tables if f" {table.name} AS" in query]
    wanted = sorted(duckdb_answer(query, tables), key=repr)
    for mode in ("batch", "hand-over", "restart"):
        found = sorted(answer(query, used, WAYS[mode], "BATCH"), key=repr)
        assert found == wanted, (seed, mode, query)


@pytest.mark.fuzz
def test_final_tables_of_new_queries_are_equal():
    rng = random.Random(os.environ.get("PENSTOCK_FUZZ_SEED", "0"))  # noqa: S311
    end = time.monotonic() + 60
    while time.monotonic() < end:
        check(rng.randrange(1 << 32), tuple(WAYS))

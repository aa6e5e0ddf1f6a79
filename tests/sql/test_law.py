"""The law of SQL: the final table of a query is the same in every mode, and that of DuckDB over the final tables.

DuckDB shares no code with this, so it finds wrong answers; the modes find answers that depend on batches, order or restarts. Both
see tables that change: rows that come and go.
"""

from __future__ import annotations

import os
import random
import time

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.graph.endpoints import Source
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from tests.sql.generated import (
    TABLES,
    QueryMaker,
    changing_table,
    duckdb_answer,
    for_penstock,
    materialized,
)

MODES = {
    "batch": ("BATCH", Schedule()),
    "streaming": ("STREAMING", Schedule(batch_sizes=(1, 3))),
    "restart": ("STREAMING", Schedule(batch_sizes=(4,), restart_every=2)),
    "mixed": ("MIXED", Schedule(batch_sizes=(2,))),
    "hand-over": ("MIXED", Schedule(batch_sizes=(3,))),
}
HISTORY_AS_BATCH = {"execution.checkpointing.interval-during-backlog": "0"}


def answer(query, tables, mode, *, settings=None, written_for=None):
    """Return the final table of a query."""
    runtime, schedule = MODES[mode]
    options = {
        "execution.runtime-mode": "STREAMING" if runtime == "MIXED" else runtime,
        "parallelism.default": 2,
        **(HISTORY_AS_BATCH if mode == "hand-over" else {}),
        **(settings or {}),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    given = {}
    for table in tables:
        changes, kind = list(table.changes), table.type_info
        if runtime == "MIXED":
            half = len(changes) // 2
            past, live = (
                CollectionSource.of(part, kind) for part in (changes[:half], changes[half:])
            )
            source: Source = HybridSource.builder(past).add_source(live).build()
        else:
            source = CollectionSource.of(changes, kind)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), table.name)
        is_changing = any(row.get_row_kind().value for row in changes)
        mode_of = Changelog.RETRACT if is_changing else Changelog.INSERT_ONLY
        given[table.name] = StreamTable(stream, mode_of)
    configuration = env.get_configuration()
    if written_for is not None:
        configuration.set_string("execution.runtime-mode", written_for)
    stream = env.sql(for_penstock(query), given)
    configuration.set_string("execution.runtime-mode", options["execution.runtime-mode"])
    return materialized(collect(stream, schedule))


SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"table.exec.enable-coded-rowdata": "true"},
    {"state.backend.type": "lmdb"},
    {"table.exec.enable-coded-rowdata": "true", "state.backend.type": "lmdb"},
)


def check(seed, modes):
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    tables = [changing_table(rng, name, is_changing=rng.random() < 0.7) for name in TABLES]
    query = QueryMaker(rng).query()
    used = [table for table in tables if f" {table.name} AS" in query]
    wanted = sorted(duckdb_answer(query, tables), key=repr)
    for mode in modes:
        settings = SETTINGS[seed % len(SETTINGS)]
        found = sorted(answer(query, used, mode, settings=settings), key=repr)
        assert found == wanted, (seed, mode, settings, query)


@pytest.mark.parametrize("seed", range(40))
def test_final_tables_are_equal(seed):
    check(seed, ("batch", tuple(MODES)[1 + seed % 4]))


@pytest.mark.parametrize("seed", [each for each in range(40) if each % 5 == 0])
def test_operators_of_batch_mode_are_right_in_every_mode(seed):
    """The mode may change between the query and the run."""
    rng = random.Random(seed)  # noqa: S311
    tables = [changing_table(rng, name, is_changing=False) for name in TABLES]
    query = QueryMaker(rng).group()
    used = [table for table in tables if f" {table.name} AS" in query]
    wanted = sorted(duckdb_answer(query, tables), key=repr)
    for mode in ("batch", "hand-over", "restart"):
        found = sorted(answer(query, used, mode, written_for="BATCH"), key=repr)
        assert found == wanted, (seed, mode, query)


@pytest.mark.fuzz
def test_final_tables_of_new_queries_are_equal():
    rng = random.Random(os.environ.get("PENSTOCK_FUZZ_SEED", "0"))  # noqa: S311
    end = time.monotonic() + 60
    while time.monotonic() < end:
        check(rng.randrange(1 << 32), tuple(MODES))

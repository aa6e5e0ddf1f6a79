"""Every benchmark program, by name: one row each."""

from __future__ import annotations

from benchmarks.model.program import BenchProgram
from benchmarks.programs import (
    aggregate,
    booleans,
    co_group,
    co_process,
    coded_join,
    coded_rows,
    cold,
    delayed_deploy,
    isolation,
    kafka,
    latency,
    live_state,
    nexmark,
    object_reuse,
    postgres,
    reduce,
    scale,
    switch,
    window_reduce,
    word_count,
)
from benchmarks.programs.columns import (
    dataframe,
    expressions,
    map_batches,
    sql_history,
    window_expressions,
)

PROGRAMS: dict[str, BenchProgram] = {
    program.name: program
    for program in (
        reduce.PROGRAM,
        expressions.PROGRAM,
        map_batches.PROGRAM,
        window_reduce.PROGRAM,
        window_expressions.PROGRAM,
        dataframe.PROGRAM,
        *sql_history.PROGRAMS,
        co_process.PROGRAM,
        co_group.PROGRAM,
        aggregate.PROGRAM,
        delayed_deploy.PROGRAM,
        coded_rows.PROGRAM,
        coded_join.PROGRAM,
        nexmark.PROGRAM,
        live_state.PROGRAM,
        latency.PROGRAM,
        isolation.PROGRAM,
        cold.PROGRAM,
        scale.PROGRAM,
        switch.PROGRAM,
        booleans.PROGRAM,
        word_count.PROGRAM,
        object_reuse.PROGRAM,
        *kafka.PROGRAMS,
        *postgres.PROGRAMS,
    )
}
"""Name on the command line to program."""

"""Random records, programs and ways for the law tests, in process and on Spark."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from penstock.testing import Way, WayMode
from penstock.testing.law.ways import values_of
from tests.testing.programs import SINKS, STEPS, TIMED, Form, Program

MOST = 40
"""Most records of a source."""

records = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-30, 60), st.integers(1, 20)), max_size=MOST
).map(lambda found: [(*record, number) for number, record in enumerate(found)])

in_time = records.map(lambda found: sorted(found, key=lambda record: record[1]))

_DEFAULTS = {field.name: field.default for field in fields(Way)}
_FREE: dict[str, SearchStrategy[Any]] = {
    "epochs": st.lists(st.integers(0, 15), min_size=1, max_size=4).filter(any).map(tuple),
    "order": st.integers(0, 9),
    "points": st.none() | st.integers(0, 99),
    "restart_every": st.none() | st.integers(1, 4),
    "fail_every": st.none() | st.integers(1, 3),
    "workers": st.integers(1, 3),
    "tasks": st.none() | st.integers(1, 4),
    "parallelism": st.integers(1, 3),
    "frame_records": st.sampled_from([4096, 1, 2, 5]),
}
"""Fields with more values than in a check, or with fewer subtasks."""

_cuts = st.integers(0, MOST).map(lambda cut: cut / MOST)


def ways_of(*modes: WayMode, **fixed: Any) -> SearchStrategy[Way]:
    """Return ways of some modes, or of all; some fields may be fixed, or have a strategy."""

    def of(mode: WayMode) -> SearchStrategy[Way]:
        values = values_of(mode, MOST)
        # Twice the default: half of the ways leave a field alone.
        drawn: dict[str, SearchStrategy[Any]] = {
            name: st.sampled_from([_DEFAULTS[name]] * 2 + list(some))
            for name, some in values.items()
        }
        drawn |= {name: free for name, free in _FREE.items() if name in values}
        drawn["cut"] = _cuts if mode is WayMode.MIXED else st.none() | _cuts
        given = {
            name: value if isinstance(value, SearchStrategy) else st.just(value)
            for name, value in fixed.items()
        }
        return st.builds(Way, st.just(mode), **(drawn | given))

    return st.sampled_from(modes or tuple(WayMode)).flatmap(of)


schedules = ways_of(WayMode.MIXED).map(Way.schedule)
"""Micro-batches and accidents of programs that build their sources themselves."""


def programs(max_sinks: int) -> SearchStrategy[Program]:
    def of(is_timed: bool) -> SearchStrategy[Program]:
        names = sorted(set(SINKS) if is_timed else set(SINKS) - TIMED)
        return st.builds(
            Program,
            steps=st.lists(st.sampled_from([*STEPS, "union"]), max_size=3).map(tuple),
            sinks=st.lists(st.sampled_from(names), min_size=1, max_size=max_sinks, unique=True).map(
                tuple
            ),
            is_timed=st.just(is_timed),
            form=st.sampled_from(Form),
        )

    return (
        st.sampled_from([True, True, False])
        .flatmap(of)
        .filter(lambda program: program.keeps_order or "alarms" not in program.sinks)
    )

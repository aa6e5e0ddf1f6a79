"""Random records and programs for the law tests, in process and on Spark."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.testing.programs import SINKS, STEPS, TIMED, Form, Program

records = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-30, 60), st.integers(1, 20)), max_size=40
).map(lambda found: [(*record, number) for number, record in enumerate(found)])

in_time = records.map(lambda found: sorted(found, key=lambda record: record[1]))


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

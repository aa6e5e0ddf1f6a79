"""The law for jobs with several pipelines: each gives the answer that it gives alone.

A job is a few random programs that share nothing. What one pipeline would do to another shows: a source
without backlog that turns batch off for the others, state or watermarks of another pipeline, runs in the
wrong order, results that go to the wrong sink.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.plan.explain.render import render_text
from penstock.testing import difference, last_per_key, run_in_process
from tests.testing.programs import UPDATING, Program, build, configuration
from tests.testing.strategies import in_time, records
from tests.testing.strategies import programs as programs_with
from tests.testing.test_law import schedules

STREAMING = RuntimeExecutionMode.STREAMING


@dataclass(frozen=True)
class Part:
    """A program of the job, and what it reads."""

    program: Program
    found: list[tuple[int, int, int, int]]
    cut: int
    has_history: bool

    def build(self, options, env=None, prefix=""):
        return build(
            self.program,
            self.found,
            self.cut,
            options,
            env=env,
            prefix=prefix,
            has_history=self.has_history,
        )

    def answers(self, results, prefix=""):
        """Return the answer of each sink: of rolling results the last one per key."""
        found = {sink: results.of(f"{prefix}{sink}") for sink in self.program.sinks}
        return {
            sink: last_per_key(of, lambda record: record[0]) if sink in UPDATING else of
            for sink, of in found.items()
        }


parts = st.builds(
    Part,
    program=programs_with(max_sinks=2),
    found=st.one_of(records, in_time),
    cut=st.integers(0, 40),
    has_history=st.booleans(),
)


def shape(plan, pipeline):
    return [
        (run.name, run.kind, run.hands_over, [reading.parts for reading in run.readings])
        for run in plan.runs_of(pipeline)
    ]


def pipeline_named(plan, prefix):
    """Return the pipeline of the sources with a prefix."""
    (found,) = {
        pipeline.index
        for pipeline in plan.pipelines
        for source in pipeline.sources
        if plan.source(source).name.startswith(prefix)
    }
    return found


@pytest.mark.parametrize("backlog", [False, True], ids=["streaming", "mixed"])
@settings(max_examples=25)
@given(
    job=st.lists(parts, min_size=2, max_size=3),
    schedule=schedules,
    parallelism=st.integers(1, 3),
    chaining=st.booleans(),
)
def test_every_pipeline_gives_the_answer_that_it_gives_alone(
    *, backlog, job, schedule, parallelism, chaining
):
    options = configuration(STREAMING, parallelism, backlog=backlog, chaining=chaining)
    env = StreamExecutionEnvironment.get_execution_environment(options)
    for number, part in enumerate(job):
        part.build(options, env, f"{number} ")
    plan = env.plan()
    results = run_in_process(env, schedule)
    for number, part in enumerate(job):
        alone = part.build(options)
        wanted = part.answers(run_in_process(alone, schedule))
        for sink, answer in part.answers(results, f"{number} ").items():
            assert difference(answer, wanted[sink]) is None, sink
        of_alone = alone.plan()
        assert len(of_alone.pipelines) == 1
        own = pipeline_named(plan, f"{number} ")
        assert shape(plan, own) == shape(of_alone, 0), render_text(plan)

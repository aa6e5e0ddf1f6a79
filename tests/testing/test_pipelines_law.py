"""The law for jobs with several pipelines: each gives the answer that it gives alone.

A job is a few random programs that share nothing. What one pipeline would do to another shows: a source
without backlog that turns batch off for the others, state or watermarks of another pipeline, runs in the
wrong order, results that go to the wrong sink.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.explain.render import render_text
from penstock.testing import WayMode
from penstock.testing.law.rules import SinkRule
from penstock.testing.law.samples import Sample
from tests.testing.laws import inputs_of, program_of, replayed, require_same, run
from tests.testing.programs import RULES, Program, build, samples
from tests.testing.strategies import in_time, programs, records, ways_of


@dataclass(frozen=True)
class Part:
    """A program of the job, and what it reads."""

    program: Program
    found: list[tuple[int, int, int, int]]

    def alone(self):
        """Return the program and its inputs."""
        made = program_of(build(self.program, self.found), RULES)
        return made, inputs_of(made, samples(self.found))


parts = st.builds(Part, program=programs(max_sinks=2), found=st.one_of(records, in_time))


def together(job):
    """Return the job of all parts, and its inputs. Sources and sinks have the number of their part in their name."""
    env = StreamExecutionEnvironment.get_execution_environment()
    rules: dict[str, SinkRule] = {}
    given_records: dict[str, Sample] = {}
    for number, part in enumerate(job):
        prefix = f"{number} "
        build(part.program, part.found, env=env, prefix=prefix)
        rules |= {f"{prefix}{sink}": rule for sink, rule in RULES.items()}
        given_records |= samples(part.found, prefix=prefix)
    made = program_of(env, rules)
    return made, inputs_of(made, given_records)


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


@pytest.mark.parametrize("mode", [WayMode.STREAMING, WayMode.MIXED])
@settings(max_examples=25)
@given(
    job=st.lists(parts, min_size=2, max_size=3),
    only_live=st.integers(0, 4),
    data=st.data(),
)
def test_every_pipeline_gives_the_answer_that_it_gives_alone(mode, job, only_live, data):
    way = data.draw(ways_of(mode, only_live=only_live))
    made, inputs = together(job)
    plan = made.plan(inputs, way)
    results = made.results(inputs, way)
    left = only_live
    for number, part in enumerate(job):
        prefix = f"{number} "
        program, own_inputs = part.alone()
        own_way = replace(way, only_live=max(0, left))
        left -= len(program.sources)
        answers = {sink.name: results.of(f"{prefix}{sink.name}") for sink in program.sinks}
        require_same(program, run(program, own_inputs, own_way), replayed(program, answers))
        of_alone = program.plan(own_inputs, own_way)
        assert len(of_alone.pipelines) == 1
        own = pipeline_named(plan, prefix)
        assert shape(plan, own) == shape(of_alone, 0), render_text(plan)

"""Every conformance program gives PyFlink's answer, in BATCH and in STREAMING mode."""

from __future__ import annotations

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.testing import Schedule, difference, run_in_process
from tests.conformance import connected, keyed, paired, stateless, timely, windowed
from tests.conformance.catalog import PROGRAMS

MODULES = (stateless, keyed, timely, connected, windowed, paired)

ONE_BY_ONE, AT_ONCE = 1, 100


def cases():
    for program in PROGRAMS:
        if "BATCH" in program.answers:
            yield pytest.param(program, "BATCH", AT_ONCE, id=f"{program.name}-batch")
        if "STREAMING" in program.answers:
            for size in (ONE_BY_ONE, AT_ONCE):
                if program.batch_size in {None, size}:
                    name = f"{program.name}-streaming-{size}"
                    yield pytest.param(program, "STREAMING", size, id=name)


@pytest.mark.parametrize(("program", "mode", "batch_size"), list(cases()))
def test_program(program, mode, batch_size):
    env = program.environment(mode)
    program.build(env).sink_to(DiscardingSink()).name("answer")
    found = run_in_process(env, Schedule(batch_sizes=(batch_size,))).of("answer")
    assert difference(found, program.answers[mode]) is None
    if program.ordered:
        assert found == program.answers[mode]


def test_names_are_unique():
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)
    assert all(any(hasattr(module, name) for module in MODULES) for name in names)

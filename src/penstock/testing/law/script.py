"""The check of a program in a file, up to its first `execute`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from penstock.api.environment.job import PlanReady, looking_at_plan
from penstock.api.environment.program_file import run_program
from penstock.config.configuration import Configuration, set_process_overrides
from penstock.config.options import TARGET
from penstock.errors import GraphError
from penstock.plan.physical import PhysicalPlan
from penstock.testing.law.engine import WAYS, judge, law_error
from penstock.testing.law.outcomes import CheckedProgram
from penstock.testing.law.own_samples import MOST_RECORDS, samples_of
from penstock.testing.law.verdict import LawVerdict
from penstock.testing.law.ways import Way

_LAYER = "check"
_NO_JOB = (
    "Call execute() on its StreamExecutionEnvironment; arguments the program needs follow `--`."
)


def check_script(
    path: str | Path,
    arguments: Sequence[str] = (),
    *,
    inputs: Mapping[str, Iterable[Any]] | None = None,
    ways: int | Sequence[Way] = WAYS,
    seed: int = 0,
    records: int = MOST_RECORDS,
    seconds: float | None = None,
) -> LawVerdict:
    """Run a program file up to its first `execute`, and check its first job as `check` does.

    Args:
        path: The program.
        arguments: Its arguments.
        inputs: As for `check`.
        ways: As for `check`.
        seed: As for `check`.
        records: As for `check`.
        seconds: As for `check`.

    Returns:
        The verdict.

    Raises:
        LawError: Two ways give two answers.
        GraphError: The program executes no job.
        PenstockError: The program cannot be checked.

    Example:
        >>> check_script("job.py", ways=40).is_same  # doctest: +SKIP
        True
    """
    __tracebackhide__ = True
    verdicts: list[LawVerdict] = []

    def look(program: CheckedProgram) -> None:
        samples = samples_of(program.graph, inputs or {}, records, seed)
        verdicts.append(judge(program, samples, ways, seed=seed, seconds=seconds))

    with checked_programs(look):
        run_program(Path(path), arguments)
    if not verdicts:
        raise GraphError(f"{path} ended without executing a job", hint=_NO_JOB)
    if not verdicts[0].is_same:
        raise law_error(verdicts[0])
    return verdicts[0]


@contextmanager
def checked_programs(look: Callable[[CheckedProgram], None]) -> Iterator[None]:
    """Call a function with the first job that is executed in the context, which ends then."""

    def with_plan(plan: PhysicalPlan, configuration: Configuration) -> None:
        assert plan.program is not None, "an environment made the plan"
        look(CheckedProgram(plan.program, configuration))

    set_process_overrides(_LAYER, {TARGET.key: "plan"})
    try:
        with looking_at_plan(with_plan), redirect_stdout(sys.stderr), suppress(PlanReady):
            yield
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        set_process_overrides(_LAYER, {})

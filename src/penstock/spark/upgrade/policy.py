"""The decision about stored state whose program has changed: by `execution.evolution`, or by the user at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from penstock.config.configuration import Configuration
from penstock.config.options import EVOLUTION, EvolutionPolicy
from penstock.errors import EvolutionError
from penstock.plan.compat.evolution import (
    Evolution,
    PartStatus,
    StoredProgram,
    compare,
    described_inputs,
)
from penstock.plan.compat.function_digest import source_uids
from penstock.spark.job.job_directory import JobDirectory
from penstock.state.savepoint import OperatorRecord


def lines_of(evolution: Evolution) -> Iterator[str]:
    """Yield a line for each operator, source and sink that is not kept."""
    for word, part in evolution.parts:
        if part.change is not PartStatus.KEPT:
            yield f"  {part.change.value}: {word} {part.described}: {part.reason}"


def decide(
    evolution: Evolution, configuration: Configuration, answers: Sequence[EvolutionPolicy]
) -> EvolutionPolicy:
    """Return the decision."""
    chosen = configuration.get(EVOLUTION)
    if chosen is EvolutionPolicy.ASK and sys.stdin.isatty() and sys.stderr.isatty():
        chosen = _from_terminal(evolution, answers)
    if chosen in answers:
        return chosen
    raise _refused(evolution, answers)


def _from_terminal(evolution: Evolution, answers: Sequence[EvolutionPolicy]) -> EvolutionPolicy:
    """Return the choice of the user at the terminal; any other text refuses."""
    shown = "\n".join(lines_of(evolution))
    choices = " or ".join(answer.name.lower() for answer in answers)
    sys.stderr.write(f"The program differs from that of {evolution.place}:\n{shown}\n")
    sys.stderr.write(f"{choices}? Any other text stops the start: ")
    sys.stderr.flush()
    chosen = sys.stdin.readline().strip().upper()
    return EvolutionPolicy.__members__.get(chosen, EvolutionPolicy.REFUSE)


def check_functions(directory: JobDirectory, configuration: Configuration) -> None:
    """Let the policy decide about a job whose functions have changed since its last start in the directory.

    Only operators with state count, and those that operators with state read.
    """
    ended = (directory.step(step) for step in ("finished", "stopped"))
    recorded = directory.step("functions")
    if recorded is None or not directory.has_begun or any(step is not None for step in ended):
        return
    inputs = described_inputs(directory.plan)
    stored = StoredProgram(
        place="the last start",
        operators=tuple(
            OperatorRecord(
                op.uid,
                op.name,
                op.kind.name,
                digest=recorded["operators"].get(op.uid, ""),
                inputs=inputs[op.uid],
            )
            for level in directory.plan.levels
            for op in level.operators
        ),
        sources=frozenset(source_uids(directory.plan).values()),
    )
    evolution = compare(directory.plan, stored)
    if evolution.of_state:
        decide(evolution, configuration, (EvolutionPolicy.KEEP,))


_HINTS = {
    EvolutionPolicy.ALLOW: f"set {EVOLUTION.key} to allow, which reads the history again for what is not kept",
    EvolutionPolicy.KEEP: f"set {EVOLUTION.key} to keep, which reads nothing again: changed operators keep their state, new ones start "
    "without",
}
_UPGRADE = "run `penstock upgrade OLD_DIR NEW_DIR JOB.PY`, which reads the history again for what is not kept"


def _refused(evolution: Evolution, answers: Sequence[EvolutionPolicy]) -> EvolutionError:
    lines = "\n".join(lines_of(evolution))
    hints = [_HINTS[answer] for answer in answers]
    if EvolutionPolicy.ALLOW not in answers:
        hints.insert(0, _UPGRADE)
    hint = "; or ".join(hints)
    return EvolutionError(
        f"the program differs from that of {evolution.place}:\n{lines}",
        hint=f"{hint[0].upper()}{hint[1:]}.",
    )

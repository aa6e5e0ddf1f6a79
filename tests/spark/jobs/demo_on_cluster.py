"""The demo with a tenth of its flights, in the session that its settings ask for.

Arguments: data directory, settings as `KEY=VALUE`. The answers are compared with those of Spark SQL; the output is one line of
JSON with how many records the job has processed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from examples.demo.answers import read_answers
from examples.demo.check import check, expected_answers
from examples.demo.data import prepare, read_flights
from examples.demo.layout import Layout
from examples.demo.live_run import run_live
from penstock.common import Configuration

EVERY = 10


def some_flights() -> pa.Table:
    """Return every tenth flight of the year, so that each day has some."""
    flights = read_flights()
    return flights.take(list(range(0, flights.num_rows, EVERY)))


def main(data: str, *settings: str) -> None:
    """Run the demo."""
    layout = Layout.below(Path(data))
    flights = prepare(layout, fresh=False, load=some_flights)
    layout.clear_run()
    live_records = sum(pq.read_metadata(file).num_rows for file in layout.feed_files())
    configuration = Configuration.from_dict(dict(each.split("=", 1) for each in settings))
    run_live(layout, configuration, live_records)
    answers = read_answers(layout.out)
    expected = expected_answers([layout.history, layout.live], ended=False)
    check(answers, expected.answers)
    assert expected.flights == flights
    told = {"flights": flights, "live": live_records, "alerts": answers.alerts.total()}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A few flights in the form of the package, and their prepared files."""

from __future__ import annotations

import pyarrow as pa
import pytest

from examples.demo.data import prepare
from examples.demo.layout import Layout

COLUMNS = (
    "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_delay",
    "carrier", "tailnum", "origin", "dest", "distance", "hour", "minute",
)  # fmt: skip

FLIGHTS = [
    # Left two minutes late.
    (2013, 1, 1, 517, 515, 2, 11, "UA", "N1", "EWR", "IAH", 1400, 5, 15),
    # Planned on 31 January, left on 1 February.
    (2013, 1, 31, 30, 2330, 60, 70, "UA", "N2", "EWR", "IAH", 1400, 23, 30),
    # Cancelled, the aircraft unknown.
    (2013, 10, 5, None, 600, None, None, "AA", None, "LGA", "MIA", 1096, 6, 0),
    # Early, live.
    (2013, 11, 1, 555, 600, -5, 3, "AA", "N1", "LGA", "MIA", 1096, 6, 0),
    (2013, 12, 31, 605, 600, 5, None, "AA", "N1", "LGA", "MIA", 1096, 6, 0),
]


@pytest.fixture
def flights() -> pa.Table:
    columns = zip(*FLIGHTS, strict=True)
    return pa.table({name: list(values) for name, values in zip(COLUMNS, columns, strict=True)})


@pytest.fixture
def prepared(tmp_path, flights) -> Layout:
    layout = Layout.below(tmp_path / "demo")
    prepare(layout, fresh=False, load=lambda: flights)
    layout.clear_run()
    return layout

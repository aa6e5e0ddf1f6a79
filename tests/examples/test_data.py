"""Preparation: every flight becomes a record in one file, and only once."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from examples.demo.data import departures_of, prepare, read_flights
from examples.demo.errors import DemoDataError
from examples.demo.feeder import FILES_PER_STEP
from examples.demo.job import DEPARTURE, OUT_OF_ORDER
from examples.demo.layout import Layout


def ms(month, day, hour, minute):
    return int(datetime(2013, month, day, hour, minute, tzinfo=UTC).timestamp() * 1000)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def refuse():
    raise AssertionError("the flights were read again")


def test_event_time_is_the_schedule_plus_the_delay_and_the_schedule_if_cancelled(flights):
    departures = departures_of(flights)
    assert departures["dep_ms"].to_pylist() == [
        ms(1, 1, 5, 17),
        ms(2, 1, 0, 30),
        ms(10, 5, 6, 0),
        ms(11, 1, 5, 55),
        ms(12, 31, 6, 5),
    ]
    assert departures["cancelled"].to_pylist() == [False, False, True, False, False]
    assert departures["tailnum"].to_pylist() == ["N1", "N2", None, "N1", "N1"]


def test_a_file_is_a_day_by_the_date_planned(prepared):
    assert names(prepared.history) == [
        "2013-01-01.parquet",
        "2013-01-31.parquet",
        "2013-10-05.parquet",
    ]
    assert names(prepared.feed) == ["2013-11-01.parquet", "2013-12-31.parquet"]
    assert pq.read_metadata(prepared.history / "2013-01-01.parquet").num_rows == 1


def test_files_have_the_columns_of_the_program(prepared):
    for file in (*prepared.history.iterdir(), *prepared.feed.iterdir()):
        assert pq.read_schema(file).names == DEPARTURE.get_field_names()


def test_prepared_files_are_used_again(prepared):
    assert prepare(prepared, fresh=False, load=refuse) == 5


def test_fresh_prepares_again(prepared):
    with pytest.raises(AssertionError, match="read again"):
        prepare(prepared, fresh=True, load=refuse)


@pytest.mark.parametrize("damage", ["missing", "cut", "other rows"])
def test_a_damaged_file_is_made_again(prepared, flights, damage):
    file = prepared.history / "2013-01-01.parquet"
    whole = pq.read_table(file)
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-20])
    else:
        pq.write_table(whole.slice(1), file)
    prepare(prepared, fresh=False, load=lambda: flights)
    assert pq.read_table(file) == whole


def test_a_directory_of_something_else_is_refused_and_left_alone(tmp_path, flights):
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "thesis.txt").write_text("ten years")
    with pytest.raises(DemoDataError, match="was not made by the demo"):
        prepare(Layout.below(tmp_path), fresh=True, load=lambda: flights)
    assert names(tmp_path / "history") == ["thesis.txt"]


def test_clearing_a_run_keeps_the_prepared_data(prepared, flights):
    (prepared.out / "alerts").mkdir(parents=True)
    (prepared.live / "2013-11-01.parquet").write_bytes(b"")
    prepared.clear_run()
    assert not prepared.out.exists()
    assert names(prepared.live) == []
    assert prepare(prepared, fresh=False, load=refuse) == 5


def test_the_package_has_the_known_flights_and_no_event_out_of_its_bounds():
    departures = departures_of(read_flights())
    assert departures.num_rows == 336_776
    assert sum(departures["cancelled"].to_pylist()) == 8_255
    by_day = departures.group_by("day", use_threads=False).aggregate(
        [("dep_ms", "min"), ("dep_ms", "max")]
    )
    columns = [by_day[name].to_pylist() for name in ("day", "dep_ms_min", "dep_ms_max")]
    days = sorted(zip(*columns, strict=True))
    late_ms = max(
        later[2] - day[1]
        for at, day in enumerate(days)
        for later in days[at : at + FILES_PER_STEP]  # arrive together, in any order
    )
    assert late_ms < OUT_OF_ORDER.to_millis(), "records of the live files would be late"

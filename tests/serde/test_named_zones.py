"""One zone of timestamps without one, named by the program, at every door that reads text."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.connectors.files.lines.form import LineForm, line_form
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.formats.csv import CsvRowDeserializationSchema
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import ConfigError, DecodeError, SourceError
from penstock.sql.scalar_binding.zone import in_zone_of
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOptions
from penstock.types.sql_types import of_type_info
from tests.connectors.test_file_lines import decoded

KIND = Types.TIMESTAMP_LTZ()
ROW = Types.ROW_NAMED(["v", "end"], [KIND, Types.INT()])
SUMMER = dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)


def json_schema(zone: str, text: str) -> Any:
    builder: Any = JsonRowDeserializationSchema.builder().type_info(ROW).set_time_zone(zone)
    return pickle.loads(pickle.dumps(builder.build())).deserialize(f'{{"v": "{text}", "end": 1}}').v


def csv_schema(zone: str, text: str) -> Any:
    builder: Any = CsvRowDeserializationSchema.Builder(ROW).set_time_zone(zone)
    return pickle.loads(pickle.dumps(builder.build())).deserialize(f"{text},1").v


def files(kind: str, zone: str, text: str) -> Any:
    form = line_form(kind, ROW, {"timeZone": zone})
    assert isinstance(form, LineForm)
    line = f'{{"v": "{text}", "end": 1}}' if kind == "json" else f"{text},1"
    ((value, _),) = decoded(form, [line.encode()])
    return value


def sql(kind: str, zone: str, text: str) -> Any:
    settings = Configuration.from_dict({"table.local-time-zone": zone})
    columns = [("v", of_type_info(KIND)), ("end", of_type_info(Types.INT()))]
    with in_zone_of(StreamExecutionEnvironment.get_execution_environment(settings)):
        decode = FORMATS[kind].decoder(columns, TableOptions("t", {}))
    return pickle.loads(pickle.dumps(decode))(
        f'{{"v": "{text}", "end": 1}}' if kind == "json" else f"{text},1"
    )[0]


DOORS = {
    "json schema": json_schema,
    "csv schema": csv_schema,
    "json file": lambda *asked: files("json", *asked),
    "csv file": lambda *asked: files("csv", *asked),
    "json of SQL": lambda *asked: sql("json", *asked),
    "csv of SQL": lambda *asked: sql("csv", *asked),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_timestamp_without_a_zone_is_in_the_named_one(door: str) -> None:
    read = DOORS[door]
    assert read("Europe/Berlin", "2026-07-01 12:00:00") == SUMMER
    assert read("Europe/Berlin", "2026-07-01 10:00:00Z") == SUMMER
    assert read("GMT+02:00", "2026-07-01 12:00:00") == SUMMER
    assert read("UTC", "2026-07-01 10:00:00") == SUMMER
    with pytest.raises((DecodeError, SourceError), match="the clock skips it"):
        read("Europe/Berlin", "2026-03-29 02:30:00")
    with pytest.raises(ConfigError, match="Mars/Olympus"):
        read("Mars/Olympus", "2026-07-01 12:00:00")


def test_a_timestamp_has_no_zone_to_be_read_in() -> None:
    row = Types.ROW_NAMED(["v"], [Types.SQL_TIMESTAMP()])
    form = line_form("csv", row, {"timeZone": "Europe/Berlin"})
    assert isinstance(form, LineForm)
    noon = dt.datetime(2026, 7, 1, 12)  # noqa: DTZ001 - its type has none
    assert decoded(form, [b"2026-07-01 12:00:00"]) == [(noon,)]

"""A connector is one folder and one row: whatever else there is of it comes from the row."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.datastream.connectors as connectors_module
from penstock.cli.doctor.software import extras
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import MissingConnectorError, SqlError
from penstock.extras import EXTRAS, Endpoint, Extra
from penstock.plan.explain.outline import nodes_of
from penstock.testing import run_in_process
from tools.support.connector_rows import DOCS, tables, with_table
from tools.support.sql_tables import render_page

PLACE = "tests.house.thermometers.endpoints"
ROW = Extra(
    "thermometers",
    ("thermo-client[serial]>=2",),
    "thermo_client",
    "a thermometer",
    "[Thermometers](connectors/thermometers.md)",
    sources=(
        Endpoint(f"{PLACE}:ThermometerSource", ("yes", "yes", "no"), "connectors/thermometers.md"),
    ),
    sinks=(Endpoint(f"{PLACE}:ThermometerSink", ("never",), "connectors/thermometers.md"),),
    tables=(f"{PLACE}:THERMOMETERS",),
)
SCRIPT = """
SET 'execution.runtime-mode' = '{mode}';
CREATE TABLE roof (reading BIGINT, degrees BIGINT)
WITH ('connector' = 'thermometers', 'count' = '7');
CREATE TABLE display (degrees BIGINT, readings BIGINT) WITH ('connector' = 'thermometers');
INSERT INTO display SELECT degrees, reading FROM roof WHERE reading > 3;
"""


@pytest.fixture
def _row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, ROW.name, ROW)


@pytest.mark.usefixtures("_row")
@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_sql_knows_a_connector_by_its_row(mode: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.sql_session.add(SCRIPT.format(mode=mode))
    assert sorted(map(tuple, run_in_process(env).of("display"))) == [
        (0, 6),
        (1, 4),
        (2, 5),
    ]


def test_without_the_row_it_is_unknown() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(SqlError, match="connector 'thermometers', which there is not"):
        env.sql_session.add(SCRIPT.format(mode="BATCH"))


@pytest.mark.usefixtures("_row")
def test_lineage_has_what_its_classes_name() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.sql_session.add(SCRIPT.format(mode="STREAMING"))
    named = {each.name for node in nodes_of(env.plan()) for each in node.datasets}
    assert named == {"readings", "display"}


@pytest.mark.usefixtures("_row")
def test_programs_import_its_classes() -> None:
    found = {each: getattr(connectors_module, each) for each in ("ThermometerSource",)}
    assert found["ThermometerSource"](3).splits(1) == [(0, 3)]
    with pytest.raises(AttributeError, match="Barometer"):
        _ = connectors_module.BarometerSource


def test_its_packages_are_missed_with_the_command_that_installs_them() -> None:
    with pytest.raises(MissingConnectorError, match="thermo-client, which is not") as caught:
        ROW.load()
    assert "pip install 'thermo-client[serial]>=2'" in (caught.value.hint or "")
    assert ROW.distributions == ("thermo-client", "thermo-client-serial")


def test_a_package_that_lacks_another_one_is_told_from_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_client.py").write_text("import what_it_needs_itself")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingConnectorError, match=r"cannot be imported: .*what_it_needs"):
        ROW.load("half_client")


@pytest.mark.usefixtures("_row")
def test_pages_have_its_row() -> None:
    made = tables(EXTRAS.values())
    assert any("thermo-client" in line for line in made["installation.md", "extras"])
    assert (
        "| [`ThermometerSource`](connectors/thermometers.md) | yes | yes | no |"
        in (made["connectors.md", "sources"])
    )
    assert (
        "| [`ThermometerSink`](connectors/thermometers.md) | never |"
        in (made["connectors.md", "sinks"])
    )
    assert "## thermometers" in render_page()


def test_the_doctor_looks_for_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "pytest", Extra("pytest", ("pytest>=1",), "pytest", "", ""))
    assert "pytest (pytest " in extras(None).text  # type: ignore[arg-type]


def test_the_pages_are_those_of_the_rows() -> None:
    for (name, table), lines in tables(EXTRAS.values()).items():
        text = (DOCS / name).read_text(encoding="utf-8")
        assert with_table(text, table, lines) == text, f"{name}: run make docs"

"""The micro benchmark of encodings: what it prints, and the layout with fixed slots."""

from __future__ import annotations

import gc
import importlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.answers.coded_join_rows import ORDER, REFUND, parse_order, parse_refund
from benchmarks.command import app
from benchmarks.encodings.fixed_slots import FixedSlots
from benchmarks.inputs.binlog import ORDERS, REFUNDS
from benchmarks.programs import coded_rows
from penstock.errors import ArgumentError
from penstock.types import Row, RowKind, Types
from penstock.wire.coded_rows import coded_codec
from tests.types.random_types import exact
from tests.types.type_strategies import values_of


@pytest.fixture(autouse=True)
def _small_heap():
    """Hide the objects of all other tests: every round collects garbage first."""
    gc.freeze()
    yield
    gc.unfreeze()


def _bench(*arguments: str):
    return CliRunner().invoke(app, ["coded-rows", *arguments], env={"COLUMNS": "200"})


def test_json_has_bytes_and_times_of_every_shape_and_encoding():
    ran = _bench("--records", "50", "--runs", "2", "--json")
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    systems = {each["system"] for each in found["results"]}
    left_out = {each["system"] for each in found["skipped"]}
    assert {f"{shape} avro-spark" for shape in coded_rows.SHAPES} <= left_out
    assert systems | left_out == {
        f"{shape} {system.name}"
        for shape in coded_rows.SHAPES
        for system in coded_rows.PROGRAM.systems
    }
    for each in found["results"]:
        assert each["outputs_equal"], each["system"]
        for name in ("bytes_per_row", "encode_ns_per_row", "decode_ns_per_row"):
            assert len(each["details"][name]) == 2
            assert min(each["details"][name]) >= 0
    sizes = {each["system"]: each["details"]["bytes_per_row"][0] for each in found["results"]}
    for shape in coded_rows.SHAPES:
        assert sizes[f"{shape} coded"] < 0.7 * sizes[f"{shape} fixed-slots"]


def test_ratios_compare_encodings_of_one_shape():
    found = json.loads(_bench("--records", "20", "--runs", "1", "--json").stdout)
    assert found["ratios"]
    assert all(name.count(name.split()[0]) == 2 for name in found["ratios"])


def test_people_see_a_table_per_row():
    ran = _bench("--records", "20", "--runs", "1", "--against", "pickle", "--system", "coded")
    assert "ns to encode" in ran.stdout
    assert "wide coded" in ran.stdout
    assert "msgspec" not in ran.stdout


def test_a_package_that_is_missing_is_a_reason(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    ran = _bench("--records", "20", "--runs", "1", "--json")
    assert ran.exit_code == 0
    reasons = {each["system"]: each["reason"] for each in json.loads(ran.stdout)["skipped"]}
    assert reasons["narrow msgspec"] == "the package msgspec is not installed"


_SHAPE = Types.ROW_NAMED(
    ["id", "name", "inner", "counts"],
    [
        Types.LONG(),
        Types.STRING(),
        Types.ROW([Types.STRING(), Types.INT()]),
        Types.MAP(Types.STRING(), Types.ROW([Types.BYTE()])),
    ],
)


@given(values_of(_SHAPE))
def test_fixed_slots_come_back(row):
    slots = FixedSlots(_SHAPE)
    assert exact(slots.decode(slots.encode(row))) == exact(row)


@given(st.lists(st.text("ab", min_size=8, max_size=20), min_size=21, max_size=21))
def test_sizes_are_those_of_the_proposal(texts):
    """4.1: 21 VARCHAR cost 180 bytes and 14 cost 124, before any string of more than 7 bytes."""
    for n_fields, size in ((21, 180), (14, 124)):
        slots = FixedSlots(Types.ROW([Types.STRING()] * n_fields))
        short = Types.ROW([Types.STRING()] * n_fields).coerce(["1234567"] * n_fields)
        assert len(slots.encode(short)) == size
        long = Types.ROW([Types.STRING()] * n_fields).coerce(texts[:n_fields])
        parts = sum((len(text) + 7) // 8 * 8 for text in texts[:n_fields])
        assert len(slots.encode(long)) == size + parts


def test_the_kind_of_a_row_is_in_its_head():
    slots = FixedSlots(Types.ROW([Types.LONG()]))
    data = slots.encode(Row.of_kind(RowKind.DELETE, f0=None))
    assert data.hex() == "10000000" + "0301000000000000" + "00" * 8


def test_other_types_are_refused():
    with pytest.raises(ArgumentError):
        FixedSlots(Types.ROW([Types.DOUBLE()]))


# CodedRowData, rule 6.
@pytest.mark.parametrize(
    ("table", "type_info", "parse"),
    [(ORDERS, ORDER, parse_order), (REFUNDS, REFUND, parse_refund)],
    ids=["orders", "refunds"],
)
def test_rows_of_the_proposals_job_are_about_a_third_smaller_than_slots(table, type_info, parse):
    rows = [row for index in range(300) for row in parse(table.line(index, 100))]
    coded, slots = coded_codec(type_info), FixedSlots(type_info)
    ratio = sum(len(coded.encode(row)) for row in rows) / sum(len(slots.encode(r)) for r in rows)
    assert 0.6 < ratio < 0.75

"""State that is coded and compressed, written by a live run and read from outside the job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.datastream.connectors import NumberSequenceSource
from penstock.inspection import read_state, read_state_names
from penstock.spark.inspect.state_location import locate_state, state_rows
from penstock.state.log.blob import decode_blob
from penstock.state.schema.entry_schema import StateKind
from penstock.state.schema.stored_form import stored_codec
from penstock.types import Row
from penstock.types.value_serializer import StoredForm
from tests.spark.conftest import Environment
from tests.spark.made_state import make_savepoint, of, section
from tests.spark.test_state_reader import SEEN, build, check_state_of

pytestmark = pytest.mark.spark


def test_a_live_run_with_coded_and_compressed_state(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    env = environment(
        "streaming",
        **{
            "execution.live.max-records-per-batch": 50,
            "table.exec.enable-coded-rowdata": True,
            "state.compression": "zstd",
            "state.backend.type": "lmdb",
        },
    )
    build(env, NumberSequenceSource(0, 99), tmp_path / "out")
    env.execute("live")
    check_state_of(tmp_path / "job", 100)
    names = [tuple(row)[:7] for row in read_state_names(tmp_path / "job").collect()]
    assert ("remember", "seen", "value", repr(SEEN), False, 5, 5) in names
    rows = state_rows(session, locate_state(tmp_path / "job")).collect()
    forms = {
        part.state: '"form":"coded"' in part.schema
        for row in rows
        for part in decode_blob(bytes(row.blob))
    }
    assert forms["seen"]
    assert not forms["all"]


# CodedRowData, rule 5.
def test_entries_of_both_forms_are_read_together(session: SparkSession, tmp_path: Path) -> None:
    plain = of(StateKind.LIST, SEEN)
    coded = replace(plain, form=StoredForm.CODED)
    chunk = [Row(count=2, last="b"), Row(count=3, last=None)]
    codec = stored_codec(coded)
    assert codec is not None
    path = make_savepoint(
        tmp_path / "savepoint",
        ("op", 0, [section("seen", plain, ("a", 0, [(1, "a")]))]),
        ("op", 1, [section("seen", coded, ("b", 0, codec.to_plain([chunk])[0]))]),
    )
    found = read_state(path, "op", "seen").orderBy("key", "list_index").collect()
    assert [(row.key, row.value["count"], row.value["last"]) for row in found] == [
        ("a", 1, "a"),
        ("b", 2, "b"),
        ("b", 3, None),
    ]
    counted = {tuple(row)[:7] for row in read_state_names(path).collect()}
    assert sum(row[5] for row in counted) == 3

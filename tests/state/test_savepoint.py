"""Savepoint directories: what is written comes back, and damage is found and named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SavepointError
from penstock.state.savepoint import (
    EVERY_SUBTASK,
    MANIFEST,
    STATE_DIRECTORY,
    OperatorRecord,
    Savepoint,
    SourceRecord,
    StateFile,
    WatermarkRecord,
    copy_state,
    prepare_directory,
    read_savepoint,
    restore_state,
    write_manifest,
)
from penstock.wire.atomic_file import write_verified

names = st.text(min_size=1, max_size=8)
marks = st.integers(-(2**63), 2**63 - 1)
savepoints = st.builds(
    Savepoint,
    id=names,
    taken_at=names,
    job_id=names,
    job_name=names,
    run=names,
    parallelism=st.integers(1, 100),
    max_parallelism=st.integers(1, 32_768),
    drained=st.booleans(),
    operators=st.tuples(st.builds(OperatorRecord, names, names, names)),
    sources=st.tuples(
        st.builds(
            SourceRecord,
            names,
            names,
            st.tuples(names, names),
            st.none() | st.integers(0, 3),
            st.fixed_dictionaries({"splits": st.lists(st.tuples(marks).map(list))}),
        )
    ),
    watermarks=st.tuples(
        st.builds(WatermarkRecord, names, names, st.dictionaries(names, marks, max_size=2))
    ),
    memory=st.dictionaries(names, marks, max_size=2),
    files=st.tuples(st.builds(StateFile, names, st.integers(0), names, st.tuples(names))),
)


@given(savepoints)
def test_a_manifest_comes_back_as_it_was(tmp_path_factory, savepoint):
    target = tmp_path_factory.mktemp("savepoint")
    write_manifest(target, savepoint)
    assert read_savepoint(target) == savepoint


def state_file(path: Path, *uids: str) -> Path:
    rows = {
        "operator": pa.array(uids, pa.string()),
        "key_group": pa.array(range(len(uids)), pa.int32()),
        "blob": pa.array([b"blob" * 50] * len(uids), pa.binary()),
    }
    pq.write_table(pa.table(rows), path)
    return path


@pytest.fixture
def savepoint(tmp_path):
    """Return a complete savepoint of two state files."""
    target = tmp_path / "savepoint"
    prepare_directory(target)
    files = copy_state(
        [
            state_file(tmp_path / "a.parquet", "x", "y", "x"),
            state_file(tmp_path / "b.parquet", "z"),
        ],
        target,
    )
    manifest = Savepoint("id", "now", "job", "name", "live", 2, 128, files=files)
    write_manifest(target, manifest)
    return target


def test_state_files_are_described_and_copied_back(savepoint, tmp_path):
    manifest = read_savepoint(savepoint)
    assert manifest.operators_with_state == ("x", "y", "z")
    copies = restore_state(savepoint, manifest, tmp_path / "restored")
    assert [path.name for path in copies] == ["a.parquet", "b.parquet"]
    for copy in copies:
        assert copy.read_bytes() == (tmp_path / copy.name).read_bytes()


def flip(path: Path, at: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(at * (len(data) - 1))] ^= 0x10
    path.write_bytes(data)


def truncate(path: Path, at: float) -> None:
    path.write_bytes(path.read_bytes()[: int(at * (path.stat().st_size - 1))])


def remove(path: Path, at: float) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [flip, truncate, remove])
@pytest.mark.parametrize("at", [0.0, 0.3, 1.0])
def test_a_damaged_state_file_is_named(savepoint, tmp_path, damage, at):
    damage(savepoint / STATE_DIRECTORY / "b.parquet", at)
    with pytest.raises(SavepointError, match=r"b\.parquet") as refused:
        restore_state(savepoint, read_savepoint(savepoint), tmp_path / "restored")
    assert refused.value.code == "SAVEPOINT"


@pytest.mark.parametrize("damage", [flip, truncate, remove])
def test_a_damaged_manifest_is_named(savepoint, damage):
    damage(savepoint / MANIFEST, 0.5)
    with pytest.raises(SavepointError, match=r"savepoint\.json"):
        read_savepoint(savepoint)


def test_another_format_is_refused(tmp_path):
    write_verified(tmp_path / MANIFEST, {"format": 99})
    with pytest.raises(SavepointError, match="format 99"):
        read_savepoint(tmp_path)


def test_a_directory_with_something_else_in_it_is_refused(savepoint, tmp_path):
    with pytest.raises(SavepointError, match=r"savepoint\.json"):
        prepare_directory(savepoint)
    assert read_savepoint(savepoint).id == "id"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(SavepointError, match=r"thesis\.txt"):
        prepare_directory(tmp_path / "mine")


def test_what_an_interrupted_attempt_left_is_replaced(savepoint):
    (savepoint / MANIFEST).rename(savepoint / f".{MANIFEST}.tmp")
    prepare_directory(savepoint)
    assert list((savepoint / STATE_DIRECTORY).iterdir()) == []


def test_names_are_known_by_uid():
    manifest = Savepoint(
        "id",
        "now",
        "job",
        "name",
        "live",
        2,
        128,
        operators=(OperatorRecord("u1", "count", "KEYED_REDUCE"),),
        watermarks=(WatermarkRecord("u0", "u1", {EVERY_SUBTASK: 5}),),
    )
    assert (manifest.name_of("u1"), manifest.name_of("u9")) == ("count", "u9")

"""Savepoints in object stores, against a store in memory."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import JobFencedError, SavepointError
from penstock.filesystem.object_path import ObjectPath
from penstock.state.savepoint import (
    MANIFEST,
    Savepoint,
    copy_state,
    fetch_savepoint,
    prepare_directory,
    put_savepoint,
    read_savepoint,
    restore_state,
    write_manifest,
)
from tests.memory_store import MemoryStore

PLACE = ObjectPath("sales", "savepoints/20261123T000000Z-00000000")


def always() -> None:
    pass


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """Return a savepoint with two state files."""
    rows = []
    for number in range(2):
        rows.append(tmp_path / f"{number}.parquet")
        table = {"operator": ["counts"], "key_group": [number], "blob": [bytes(100)]}
        pq.write_table(pa.table(table), rows[-1])
    path = tmp_path / "taken"
    prepare_directory(path)
    files = copy_state(rows, path)
    write_manifest(path, Savepoint("id", "now", "job", "name", "live", 2, 128, files=files))
    return path


def test_a_savepoint_comes_back_as_it_was(taken: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    put_savepoint(store, taken, PLACE, always)
    put_savepoint(store, taken, PLACE, always)
    assert store.open == {}
    fetch_savepoint(store, PLACE, tmp_path / "fetched")
    found = read_savepoint(tmp_path / "fetched")
    assert found == read_savepoint(taken)
    assert len(restore_state(tmp_path / "fetched", found, tmp_path / "restored")) == 2


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_what_was_not_copied_to_its_end_is_no_savepoint(
    taken: Path, tmp_path: Path, *, is_after: bool
) -> None:
    class Crash(BaseException):
        pass

    for place in count():
        store, left = MemoryStore(), [place]

        def hook(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Crash

        setattr(store, "after" if is_after else "before", hook)
        try:
            put_savepoint(store, taken, PLACE, always)
        except Crash:
            store.before = store.after = lambda _: None
            is_whole = PLACE / MANIFEST in store.objects
            with suppress(SavepointError):
                fetch_savepoint(store, PLACE, tmp_path / f"{place}")
                assert is_whole
                assert read_savepoint(tmp_path / f"{place}") == read_savepoint(taken)
            put_savepoint(store, taken, PLACE, always)
            fetch_savepoint(store, PLACE, tmp_path / f"{place}-again")
        else:
            assert place > 6, "there are calls"
            break


def test_a_driver_that_was_replaced_completes_no_savepoint(taken: Path, tmp_path: Path) -> None:
    def fence() -> None:
        raise JobFencedError("replaced", hint="Leave it.")

    store = MemoryStore()
    with pytest.raises(JobFencedError):
        put_savepoint(store, taken, PLACE, fence)
    with pytest.raises(SavepointError, match="is not a savepoint"):
        fetch_savepoint(store, PLACE, tmp_path / "fetched")


def test_another_savepoint_is_not_replaced(taken: Path) -> None:
    store = MemoryStore()
    store.write(PLACE / MANIFEST, b"another")
    with pytest.raises(SavepointError, match="another one"):
        put_savepoint(store, taken, PLACE, always)
    assert store.objects[PLACE / MANIFEST] == b"another"


def test_a_state_file_that_is_gone_is_told(taken: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    put_savepoint(store, taken, PLACE, always)
    store.delete([PLACE / "state/1.parquet"])
    with pytest.raises(SavepointError, match=r"1\.parquet is gone"):
        fetch_savepoint(store, PLACE, tmp_path / "fetched")


def test_a_state_file_that_was_changed_is_told(taken: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    put_savepoint(store, taken, PLACE, always)
    path = PLACE / "state/0.parquet"
    store.objects[path] = store.objects[path].replace(b"counts", b"Counts", 1)
    fetch_savepoint(store, PLACE, tmp_path / "fetched")
    found = read_savepoint(tmp_path / "fetched")
    with pytest.raises(SavepointError, match="SHA-256"):
        restore_state(tmp_path / "fetched", found, tmp_path / "restored")

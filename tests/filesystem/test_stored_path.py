"""What a job does with its files is the same on a mounted file system and in a store."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_store import S3Store
from penstock.filesystem.stored_path import PART_BYTES, JobPath, StoredPath
from penstock.wire.atomic_file import (
    create_directory,
    put_exclusively,
    remove_temporaries,
    sync_directory,
    write_atomically,
)
from penstock.wire.job_files import byte_count, new_file, readable, remove_tree
from tests.memory_store import MemoryStore


@pytest.fixture(params=["mounted", "memory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> JobPath:
    if request.param == "mounted":
        return tmp_path / "job"
    if request.param == "memory":
        return StoredPath(MemoryStore(), ObjectPath("jobs", "job"))
    store: S3Store = request.getfixturevalue("store")
    bucket: ObjectPath = request.getfixturevalue("bucket")
    return StoredPath(store, bucket / "job")


@pytest.fixture
def job(place: JobPath) -> Iterator[JobPath]:
    create_directory(place)
    yield place
    remove_tree(place)
    assert not place.exists()


def test_names_are_those_of_paths(job: JobPath) -> None:
    path = job / "run-0" / "a.json"
    assert (path.name, path.stem, path.parent.name, path.parent.parent) == (
        "a.json",
        "a",
        "run-0",
        job,
    )
    assert str(path) == f"{job}/run-0/a.json"
    assert path.absolute() == path


def test_files_are_replaced_read_listed_and_removed(job: JobPath) -> None:
    path = job / "a.json"
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        path.read_bytes()
    with pytest.raises(FileNotFoundError):
        byte_count(path)
    write_atomically(path, b"one")
    write_atomically(path, b"two!")
    create_directory(job / "folder")
    write_atomically(job / "folder" / "b", b"")
    remove_temporaries(job)
    sync_directory(job)
    assert (path.read_bytes(), byte_count(path), path.is_file(), path.is_dir()) == (
        b"two!",
        4,
        True,
        False,
    )
    assert sorted(child.name for child in job.iterdir()) == ["a.json", "folder"]
    assert [child.name for child in job.glob("*.json")] == ["a.json"]
    assert (job / "folder").is_dir()
    assert (job / "folder").exists()
    path.unlink()
    path.unlink(missing_ok=True)
    assert not path.exists()


def test_a_check_prevents_a_put_and_a_removal(job: JobPath) -> None:
    def refuse() -> None:
        raise PermissionError("replaced")

    write_atomically(job / "kept", b"1")
    for forbidden in (
        lambda: write_atomically(job / "a", b"", refuse),
        lambda: put_exclusively(job / "a", b"", refuse),
    ):
        with pytest.raises(PermissionError):
            forbidden()
    assert [child.name for child in job.iterdir()] == ["kept"]


def test_one_of_several_writers_puts_a_file(job: JobPath) -> None:
    put_exclusively(job / "record", b"first")
    with pytest.raises(FileExistsError):
        put_exclusively(job / "record", b"second")
    assert (job / "record").read_bytes() == b"first"


@pytest.mark.parametrize("size", [0, 10, PART_BYTES - 1, 2 * PART_BYTES + 3])
def test_a_new_file_is_there_when_it_is_finished(job: JobPath, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    path = job / "new"
    file = new_file(path, is_digested=True)
    for begin in range(0, size, 1 << 20):
        file.write(data[begin : min(begin + (1 << 20), size)])
    if isinstance(job, StoredPath):
        assert not path.exists()
    file.finish()
    assert (file.tell(), byte_count(path)) == (size, size)
    assert path.read_bytes() == data[:size]
    again = new_file(job / "again", is_digested=True)
    again.write(data[:size])
    again.finish(is_durable=False)
    assert again.sha256 == file.sha256
    with path.open("rb") as stream:
        assert stream.read(7) == data[: min(size, 7)]
        assert stream.seek(0, io.SEEK_END) == size
        stream.seek(max(size - 5, 0))
        assert stream.read() == data[max(size - 5, 0) : size]


@pytest.mark.parametrize("size", [3, PART_BYTES + 3])
def test_a_new_file_that_is_dropped_leaves_nothing(job: JobPath, size: int) -> None:
    file = new_file(job / "new")
    file.write(b"x" * size)
    file.discard()
    assert list(job.iterdir()) == []
    if isinstance(job, StoredPath):
        assert job.store.uploads(job.address) == []


def test_parquet_is_written_and_read(job: JobPath) -> None:
    table = pa.table({"n": list(range(10_000))})
    file = new_file(job / "a.parquet")
    with pq.ParquetWriter(file, table.schema) as writer:
        writer.write_table(table, row_group_size=1000)
    file.finish()
    with pq.ParquetFile(readable(job / "a.parquet")) as found:
        assert found.num_row_groups == 10
        assert found.read_row_group(3).equals(table.slice(3000, 1000))


def test_a_path_travels_to_other_processes(bucket: ObjectPath, store: S3Store) -> None:
    path = StoredPath(store, bucket / "job")
    sent = pickle.loads(pickle.dumps(path))
    write_atomically(path / "a", b"1")
    assert (sent / "a").read_bytes() == b"1"
    assert "s3cr3t" not in repr(sent)

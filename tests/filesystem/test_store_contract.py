"""What every store must do: the one of S3, and the one in memory that stands for it in tests of commits.

A difference between the two would be a hole in those tests.
"""

from __future__ import annotations

import pickle

import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.s3_store import S3Store
from penstock.filesystem.upload_file import PART_BYTES, UploadFile
from tests.memory_store import MemoryStore


@pytest.fixture(params=["s3", "memory"])
def any_store(request: pytest.FixtureRequest) -> ObjectStore:
    if request.param == "memory":
        return MemoryStore()
    found: ObjectStore = request.getfixturevalue("store")
    return found


def test_objects_are_written_replaced_read_and_deleted(
    any_store: ObjectStore, bucket: ObjectPath
) -> None:
    path = bucket / "a b/100% +?#ü.json"
    assert any_store.size_of(path) is None
    with pytest.raises(FileNotFoundError):
        any_store.read(path)
    any_store.write(path, b"one")
    any_store.write(path, b"two!")
    assert (any_store.read(path), any_store.size_of(path)) == (b"two!", 4)
    any_store.delete([path, bucket / "nothing"])
    assert any_store.size_of(path) is None


def test_an_object_is_created_once(any_store: ObjectStore, bucket: ObjectPath) -> None:
    any_store.create(bucket / "lock", b"first")
    with pytest.raises(FileExistsError):
        any_store.create(bucket / "lock", b"second")
    assert any_store.read(bucket / "lock") == b"first"


def test_a_list_has_what_is_below_a_path_and_nothing_beside_it(
    any_store: ObjectStore, bucket: ObjectPath
) -> None:
    for key in ("d/b", "d/a", "d/x/y", "da", "d"):
        any_store.write(bucket / key, b"")
    assert [path.key for path in any_store.list_below(bucket / "d")] == ["d/a", "d/b", "d/x/y"]
    assert len(any_store.list_below(bucket)) == 5


def test_some_bytes_of_an_object_are_read(any_store: ObjectStore, bucket: ObjectPath) -> None:
    any_store.write(bucket / "a", b"0123456789")
    assert any_store.read_range(bucket / "a", 3, 4) == b"3456"
    assert any_store.read_range(bucket / "a", 8, 100) == b"89"
    with pytest.raises(FileNotFoundError):
        any_store.read_range(bucket / "b", 0, 1)


def test_names_directly_below_a_path_are_listed(any_store: ObjectStore, bucket: ObjectPath) -> None:
    for key in ("d/b", "d/a", "d/x/y", "d/x/z", "da", "d"):
        any_store.write(bucket / key, b"")
    assert list(any_store.names_in(bucket / "d")) == ["a", "b", "x"]
    assert list(any_store.names_in(bucket / "e")) == []
    assert list(any_store.names_in(bucket)) == ["d", "da"]


def test_the_age_of_an_object_is_by_one_clock(any_store: ObjectStore, bucket: ObjectPath) -> None:
    assert any_store.age_seconds(bucket / "a") is None
    any_store.write(bucket / "a", b"")
    age = any_store.age_seconds(bucket / "a")
    assert age is not None
    assert -1 <= age < 60


def test_an_upload_is_seen_when_another_process_has_completed_it(
    any_store: ObjectStore, bucket: ObjectPath
) -> None:
    path = bucket / "d/part-0"
    upload = any_store.begin_upload(path)
    part = any_store.upload_part(upload, 1, b"all of it")
    assert any_store.size_of(path) is None
    assert any_store.uploads(bucket / "d") == [upload]
    sent = pickle.loads(pickle.dumps((upload, [part])))
    any_store.complete_upload(*sent)
    assert any_store.read(path) == b"all of it"
    assert any_store.uploads(bucket / "d") == []


def test_an_upload_that_was_aborted_is_never_completed(
    any_store: ObjectStore, bucket: ObjectPath
) -> None:
    upload = any_store.begin_upload(bucket / "part-0")
    part = any_store.upload_part(upload, 1, b"x")
    any_store.abort_upload(upload)
    any_store.abort_upload(upload)
    with pytest.raises(FileNotFoundError):
        any_store.complete_upload(upload, [part])
    with pytest.raises(FileNotFoundError):
        any_store.upload_part(upload, 2, b"y")
    assert any_store.list_below(bucket) == []


def test_a_large_file_is_sent_in_parts(any_store: ObjectStore, bucket: ObjectPath) -> None:
    file = UploadFile(any_store, any_store.begin_upload(bucket / "large"))
    piece = bytes(range(256)) * 4096  # 1 MiB
    for _ in range(9):
        assert file.write(piece) == len(piece)
    assert (len(file.parts), file.tell()) == (1, 9 << 20)
    parts = file.finish()
    assert len(parts) == 2
    any_store.complete_upload(file.upload, parts)
    assert any_store.read(bucket / "large") == piece * 9
    assert b"".join(any_store.chunks(bucket / "large")) == piece * 9
    with pytest.raises(FileNotFoundError):
        next(any_store.chunks(bucket / "small"))
    assert PART_BYTES == 8 << 20


def test_a_store_is_sent_to_workers(store: S3Store, bucket: ObjectPath) -> None:
    store.write(bucket / "a", b"1")
    assert pickle.loads(pickle.dumps(store)).read(bucket / "a") == b"1"

"""What every store must do: those of the systems, and the one in memory that stands for them in tests of commits.

A difference between the two would be a hole in those tests.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.stored_path import PART_BYTES, UploadFile
from tests.azure_server import azurite
from tests.filesystem.conftest import Servers
from tests.memory_store import MemoryStore
from tests.store_systems import SYSTEMS


@pytest.fixture(params=["memory", *SYSTEMS, "azurite"])
def placed(
    request: pytest.FixtureRequest, servers: Servers, tmp_path: Path
) -> Iterator[tuple[ObjectStore, ObjectPath]]:
    if request.param == "memory":
        yield MemoryStore(), ObjectPath("sales")
    elif request.param == "azurite":
        with azurite(tmp_path) as url:
            yield SYSTEMS["azure"].store(url), SYSTEMS["azure"].new_bucket(url)
    else:
        system, url = SYSTEMS[request.param], servers.of(request.param)
        yield system.store(url), system.new_bucket(url)


@pytest.fixture
def any_store(placed: tuple[ObjectStore, ObjectPath]) -> ObjectStore:
    return placed[0]


@pytest.fixture
def bucket(placed: tuple[ObjectStore, ObjectPath]) -> ObjectPath:
    return placed[1]


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


def test_an_object_of_an_upload_may_be_empty_and_replaces_another(
    any_store: ObjectStore, bucket: ObjectPath
) -> None:
    for content in (b"earlier", b""):
        file = UploadFile(any_store, any_store.begin_upload(bucket / "d/part-0"))
        file.write(content)
        any_store.complete_upload(file.upload, file.finish())
        assert any_store.read(bucket / "d/part-0") == content
    assert any_store.list_below(bucket) == [bucket / "d/part-0"]


def test_an_upload_is_completed_once(any_store: ObjectStore, bucket: ObjectPath) -> None:
    upload = any_store.begin_upload(bucket / "part-0")
    part = any_store.upload_part(upload, 1, b"x")
    any_store.complete_upload(upload, [part])
    any_store.delete([upload.path])
    with pytest.raises(FileNotFoundError):
        any_store.complete_upload(upload, [part])
    any_store.abort_upload(upload)
    assert any_store.list_below(bucket) == []
    assert any_store.uploads(bucket) == []


def test_nothing_is_to_be_seen_of_an_upload(any_store: ObjectStore, bucket: ObjectPath) -> None:
    any_store.write(bucket / "d/a", b"")
    upload = any_store.begin_upload(bucket / "d/e/part-0")
    any_store.upload_part(upload, 1, b"x")
    assert any_store.list_below(bucket) == [bucket / "d/a"]
    assert list(any_store.names_in(bucket)) == ["d"]
    assert "part-0" not in set(any_store.names_in(bucket / "d/e"))
    assert any_store.age_seconds(upload.path) is None
    with pytest.raises(FileNotFoundError):
        any_store.read(upload.path)


def test_parts_are_in_their_order_however_many(any_store: ObjectStore, bucket: ObjectPath) -> None:
    upload = any_store.begin_upload(bucket / "many")
    sizes = 5 << 20 if "S3" in type(any_store).__name__ else 1
    count = 2 if sizes > 1 else 70
    pieces = [bytes([number]) * sizes for number in range(1, count + 1)]
    parts = [any_store.upload_part(upload, n, piece) for n, piece in enumerate(pieces, start=1)]
    any_store.complete_upload(upload, parts)
    assert any_store.read(bucket / "many") == b"".join(pieces)
    assert any_store.list_below(bucket) == [bucket / "many"]


def test_a_store_is_sent_to_workers(any_store: ObjectStore, bucket: ObjectPath) -> None:
    if isinstance(any_store, MemoryStore):
        return
    any_store.write(bucket / "a", b"1")
    assert pickle.loads(pickle.dumps(any_store)).read(bucket / "a") == b"1"

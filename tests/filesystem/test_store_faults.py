"""A network that loses answers, and a store that is busy, for each system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore
from tests.filesystem.conftest import Servers, soon_again
from tests.s3_server import Fault, FaultProxy, Request
from tests.store_systems import SYSTEMS


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket behind a network that has faults."""

    store: ObjectStore
    direct: ObjectStore
    bucket: ObjectPath
    proxy: FaultProxy


@pytest.fixture(params=SYSTEMS)
def place(
    request: pytest.FixtureRequest, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    soon_again(monkeypatch)
    system, url = SYSTEMS[request.param], servers.of(request.param)
    proxy = FaultProxy(url)
    yield Place(system.store(proxy.url), system.store(url), system.new_bucket(url), proxy)
    proxy.stop()


def changes(request: Request) -> bool:
    """Whether a request changes something."""
    return request.method in {"PUT", "POST"}


def anything(_: Request) -> bool:
    return True


def test_a_create_whose_answer_was_lost_is_known_as_ours(place: Place) -> None:
    place.proxy.faults.append(Fault(changes, is_lost=True))
    place.store.create(place.bucket / "lock", b"mine")
    assert len([each for each in place.proxy.requests if changes(each)]) == 2
    assert place.store.read(place.bucket / "lock") == b"mine"


def test_a_create_whose_answers_are_all_lost_is_known_as_ours(place: Place) -> None:
    place.proxy.faults.append(Fault(changes, times=1000, is_lost=True))
    place.store.create(place.bucket / "lock", b"mine")
    assert place.store.read(place.bucket / "lock") == b"mine"


def test_a_create_that_lost_its_answer_to_another_is_refused(place: Place) -> None:
    """The first attempt never arrives; before the second one another driver writes the same bytes."""
    place.proxy.faults.append(Fault(changes, is_throttled=True))
    place.direct.create(place.bucket / "lock", b"same")
    with pytest.raises(FileExistsError):
        place.store.create(place.bucket / "lock", b"same")


def test_a_busy_store_is_asked_again_later(place: Place) -> None:
    place.proxy.faults.append(Fault(changes, times=2, is_throttled=True))
    place.store.write(place.bucket / "a", b"1")
    assert place.store.read(place.bucket / "a") == b"1"
    assert len([each for each in place.proxy.requests if changes(each)]) == 3


def test_every_kind_of_request_is_sent_again(place: Place) -> None:
    """The answer to each is lost once."""
    seen: set[tuple[str, str, str]] = set()

    def is_first(request: Request) -> bool:
        key = (request.method, request.path, request.query)
        is_new = key not in seen
        seen.add(key)
        return is_new

    fault = Fault(is_first, times=1000, is_lost=True)
    place.proxy.faults = [fault]
    store, directory = place.store, place.bucket / "d"
    store.write(directory / "a", b"12345")
    assert store.read(directory / "a") == b"12345"
    assert store.read_range(directory / "a", 1, 2) == b"23"
    assert b"".join(store.chunks(directory / "a")) == b"12345"
    assert store.size_of(directory / "a") == 5
    assert store.age_seconds(directory / "a") is not None
    assert list(store.names_in(directory)) == ["a"]
    upload = store.begin_upload(directory / "b")
    part = store.upload_part(upload, 1, b"x")
    with suppress(FileNotFoundError):  # whoever completes it looks for the object then
        store.complete_upload(upload, [part])
    assert store.list_below(directory) == [directory / "a", directory / "b"]
    store.delete([directory / "a", directory / "b"])
    store.abort_upload(store.begin_upload(directory / "c"))
    assert fault.times < 1000 - 8
    place.proxy.faults = []
    assert place.direct.list_below(directory) == []
    # One whose beginning was answered to nobody is found, and dropped as a sink does it.
    for left in place.direct.uploads(directory):
        place.direct.abort_upload(left)
    assert place.direct.uploads(directory) == []


def test_a_store_that_stays_busy_is_an_error(place: Place) -> None:
    place.proxy.faults.append(Fault(anything, times=1000, is_throttled=True))
    with pytest.raises(OSError, match=r"SlowDown|answered 503|RetryError"):
        place.store.write(place.bucket / "a", b"1")
    assert len(place.proxy.requests) >= 4


def test_a_completion_whose_answer_was_lost_left_the_object(place: Place) -> None:
    upload = place.store.begin_upload(place.bucket / "part")
    part = place.store.upload_part(upload, 1, b"x")
    place.proxy.faults.append(Fault(changes, is_lost=True))
    with suppress(FileNotFoundError):  # whoever completes it looks for the object then
        place.store.complete_upload(upload, [part])
    assert place.store.size_of(place.bucket / "part") == 1


def test_a_bucket_that_is_not_there_is_told(place: Place) -> None:
    nowhere = ObjectPath(place.bucket.bucket.replace("b-", "c-", 1), "a", place.bucket.scheme)
    with pytest.raises(FileNotFoundError) as caught:
        place.store.write(nowhere, b"1")
    assert str(nowhere) in str(caught.value)

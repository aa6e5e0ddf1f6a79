"""A file sink on a server, behind a network that loses answers and delays lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_sink import FileSink
from penstock.errors import JobFencedError, SinkError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import store_of
from penstock.graph.endpoints import SinkContext
from penstock.types import PickledBytesTypeInfo
from tests.filesystem.conftest import Servers, soon_again
from tests.s3_server import Fault, FaultProxy, Request
from tests.store_systems import SYSTEMS, StoreSystem


@dataclass(frozen=True, slots=True)
class Place:
    """A directory behind a network that has faults."""

    system: StoreSystem
    proxy: FaultProxy
    url: str
    out: ObjectPath

    @property
    def slow(self) -> StoreSettings:
        """How the network is reached."""
        return self.system.settings(self.proxy.url)

    @property
    def fast(self) -> StoreSettings:
        """How the server is reached without it."""
        return self.system.settings(self.url)


@pytest.fixture(params=SYSTEMS)
def place(
    request: pytest.FixtureRequest, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    soon_again(monkeypatch)
    system, url = SYSTEMS[request.param], servers.of(request.param)
    proxy = FaultProxy(url)
    yield Place(system, proxy, url, system.new_bucket(url) / "out")
    proxy.stop()


def context(settings: StoreSettings) -> SinkContext:
    return SinkContext(
        job_id="0123456789abcdef",
        sink_id="s3",
        subtask=0,
        type_info=PickledBytesTypeInfo(),
        name="out",
        origin=None,
        scratch=Path(),
        object_settings=settings,
    )


def stage(sink: FileSink, settings: StoreSettings, values: list[str]) -> list[object]:
    writer = sink.create_writer(context(settings))
    writer.write(values)
    return writer.prepare_commit()


def visible(store: ObjectStore, directory: ObjectPath) -> list[str]:
    paths = [path for path in store.list_below(directory) if "_penstock" not in path.key]
    return sorted(line for path in paths for line in store.read(path).decode().splitlines())


def test_every_answer_is_lost_once(place: Place) -> None:
    seen: set[tuple[str, str, str]] = set()

    def is_first(request: Request) -> bool:
        key = (request.method, request.path, request.query)
        is_new = request.method in {"PUT", "POST"} and key not in seen
        seen.add(key)
        return is_new

    sink = FileSink(place.out, FileFormat.TEXT)
    driver = sink.create_committer(context(place.slow))
    place.proxy.faults.append(Fault(is_first, times=1000, is_lost=True))
    driver.recover()
    driver.commit("live-0", stage(sink, place.slow, ["a", "b"]))
    driver.commit("live-1", stage(sink, place.slow, ["c"]))
    direct = store_of(place.out, place.fast)
    assert visible(direct, place.out) == ["a", "b", "c"]
    sink.create_committer(context(place.fast)).recover()
    assert direct.uploads(place.out) == [], (
        "those whose beginning was answered to nobody are dropped"
    )
    assert visible(direct, place.out) == ["a", "b", "c"]


def test_a_list_that_takes_long_lets_two_drivers_decide_once(place: Place) -> None:
    """The second driver does all its work between the answer of the store and its arrival at the first."""
    sink = FileSink(place.out, FileFormat.TEXT)
    first = sink.create_committer(context(place.slow))
    first.recover()
    staged = stage(sink, place.slow, ["a1"])

    def succeed() -> None:
        second = sink.create_committer(context(place.fast))
        second.recover()
        second.commit("live-0", stage(sink, place.fast, ["b"]))

    def is_list_of_drivers(request: Request) -> bool:
        return request.method == "GET" and "drivers" in request.query

    place.proxy.faults.append(Fault(is_list_of_drivers, before_answer=succeed))
    first.commit("live-0", staged)
    assert place.proxy.faults[0].times == 0
    direct = store_of(place.out, place.fast)
    assert visible(direct, place.out) == ["a1"], "it was decided before the list was made"
    with pytest.raises(JobFencedError, match="another driver"):
        first.commit("live-1", stage(sink, place.slow, ["a2"]))
    assert visible(direct, place.out) == ["a1"]


@pytest.mark.parametrize("place", [name for name in SYSTEMS if name != "s3"], indirect=True)
@pytest.mark.parametrize("is_recorded", [False, True], ids=["computed-again", "recorded"])
def test_a_driver_that_dies_after_every_request(place: Place, *, is_recorded: bool) -> None:
    """The next driver commits the same files (they were recorded), or those of tasks that ran again.

    One request of S3 is one call, and every call is in `tests/connectors/test_object_commits.py`.
    """
    first = replace(place.slow, google=replace(place.slow.google, retry_seconds=0.1))
    for requests in count():
        directory = place.out / str(requests)
        sink = FileSink(directory, FileFormat.TEXT)
        driver = sink.create_committer(context(first))
        driver.recover()
        driver.commit("live-0", stage(sink, place.fast, ["0"]))
        staged = [*stage(sink, place.fast, ["a1"]), *stage(sink, place.fast, ["a2"])]
        place.proxy.faults = []
        place.proxy.requests.clear()

        def is_dead(_: Request, most: int = requests) -> bool:
            return len(place.proxy.requests) > most

        dead = Fault(is_dead, times=10**6, is_dropped=True)
        place.proxy.faults = [dead]
        with suppress(SinkError):
            driver.commit("live-1", staged)
        place.proxy.faults = []
        successor = sink.create_committer(context(place.fast))
        if is_recorded:
            successor.commit("live-1", staged)
            successor.recover()
        else:
            successor.recover()
            successor.commit("live-1", stage(sink, place.fast, ["b1"]))
        successor.commit("live-2", stage(sink, place.fast, ["2"]))
        direct = store_of(directory, place.fast)
        found = visible(direct, directory)
        assert found in (["0", "2", "a1", "a2"], ["0", "2", "b1"]), requests
        assert not is_recorded or "a1" in found
        assert direct.uploads(directory) == []
        if dead.times == 10**6:
            assert requests >= 6, "there are requests"
            break

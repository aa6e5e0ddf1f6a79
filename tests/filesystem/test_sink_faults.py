"""A file sink on a server, behind a network that loses answers and delays lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_sink import FileSink
from penstock.errors import JobFencedError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_settings import S3Settings
from penstock.filesystem.s3_store import S3Store
from penstock.graph.endpoints import SinkContext
from penstock.types.information import PickledBytesTypeInfo
from tests.s3_server import Fault, FaultProxy, Request, settings_of


def context(settings: S3Settings) -> SinkContext:
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


def stage(sink: FileSink, settings: S3Settings, values: list[str]) -> list[object]:
    writer = sink.create_writer(context(settings))
    writer.write(values)
    return writer.prepare_commit()


def visible(store: S3Store, directory: ObjectPath) -> list[str]:
    paths = [path for path in store.list_below(directory) if "_penstock" not in path.key]
    return sorted(line for path in paths for line in store.read(path).decode().splitlines())


def test_every_answer_is_lost_once(proxy: FaultProxy, bucket: ObjectPath, server: str) -> None:
    seen: set[tuple[str, str, str]] = set()

    def is_first(request: Request) -> bool:
        key = (request.method, request.path, request.query)
        is_new = request.method in {"PUT", "POST"} and key not in seen
        seen.add(key)
        return is_new

    settings = settings_of(proxy.url)
    sink = FileSink(bucket / "out", FileFormat.TEXT)
    driver = sink.create_committer(context(settings))
    proxy.faults.append(Fault(is_first, times=1000, is_lost=True))
    driver.recover()
    driver.commit("live-0", stage(sink, settings, ["a", "b"]))
    driver.commit("live-1", stage(sink, settings, ["c"]))
    direct = S3Store(settings_of(server))
    assert visible(direct, bucket / "out") == ["a", "b", "c"]
    sink.create_committer(context(settings_of(server))).recover()
    assert direct.uploads(bucket) == [], "those whose beginning was answered to nobody are dropped"
    assert visible(direct, bucket / "out") == ["a", "b", "c"]


def test_a_list_that_takes_long_lets_two_drivers_decide_once(
    proxy: FaultProxy, bucket: ObjectPath, server: str
) -> None:
    """The second driver does all its work between the answer of the store and its arrival at the first."""
    slow, fast = settings_of(proxy.url), settings_of(server)
    sink = FileSink(bucket / "out", FileFormat.TEXT)
    first = sink.create_committer(context(slow))
    first.recover()
    staged = stage(sink, slow, ["a1"])

    def replace() -> None:
        second = sink.create_committer(context(fast))
        second.recover()
        second.commit("live-0", stage(sink, fast, ["b"]))

    def is_list_of_drivers(request: Request) -> bool:
        return request.method == "GET" and "drivers" in request.query

    proxy.faults.append(Fault(is_list_of_drivers, before_answer=replace))
    first.commit("live-0", staged)
    assert proxy.faults[0].times == 0
    direct = S3Store(fast)
    assert visible(direct, bucket / "out") == ["a1"], "it was decided before the list was made"
    with pytest.raises(JobFencedError, match="another driver"):
        first.commit("live-1", stage(sink, slow, ["a2"]))
    assert visible(direct, bucket / "out") == ["a1"]

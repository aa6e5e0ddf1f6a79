"""Exactly once in object stores, against a store in memory.

`test_a_crash_at_every_call` ends a driver before and after each call of the store; another one goes on.
`test_a_driver_that_is_replaced_at_every_call` lets another driver take over, and compute the epoch again with other
records, while a call of the first is under way; then the first one goes on as if nothing had happened. No lock of
the job helps it: the store alone must keep the two apart. Neither can find that S3 does something else than the store
in memory: `tests/filesystem/test_store_contract.py` compares the two.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from penstock.connectors.files import object_commits, uploaded_files
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import BucketAssigner, FileNaming
from penstock.connectors.files.object_commits import UploadedFileCommitter
from penstock.connectors.files.uploaded_files import UploadedFile, UploadedFileWriter
from penstock.errors import CallSite, JobFencedError, SinkError
from penstock.filesystem.object_path import ObjectPath
from penstock.graph.endpoints import SinkContext
from penstock.types import PickledBytesTypeInfo
from penstock.types.types import Types
from tests.memory_store import MemoryStore

OUT = ObjectPath("sales", "out")
READ: dict[FileFormat, Callable[[io.BytesIO], list[Any]]] = {
    FileFormat.PARQUET: lambda file: pyarrow.parquet.read_table(file).to_pylist(),
    FileFormat.CSV: lambda file: pyarrow.csv.read_csv(file).to_pylist(),
    FileFormat.JSON: lambda file: [json.loads(line) for line in file],
}


class Crash(BaseException):
    """The process ends here. No `except Exception` may notice."""


class Objects:
    """A text sink in a store in memory, driven by hand."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.naming = FileNaming()

    def context(self, may_commit: Callable[[], None] = lambda: None) -> SinkContext:
        return SinkContext(
            job_id="0123456789abcdef",
            sink_id="s3",
            subtask=0,
            type_info=PickledBytesTypeInfo(),
            name="out",
            origin=CallSite("job.py", 41, "build"),
            scratch=Path(),
            may_commit=may_commit,
        )

    def driver(self, may_commit: Callable[[], None] = lambda: None) -> UploadedFileCommitter:
        return UploadedFileCommitter(OUT, self.context(may_commit), self.naming)

    def started(self) -> UploadedFileCommitter:
        made = self.driver()
        made.recover()
        return made

    def writer(self) -> UploadedFileWriter:
        return UploadedFileWriter(OUT, FileFormat.TEXT, self.context(), self.naming, None, None)

    def stage(self, *tasks: list[str]) -> list[Any]:
        """Run one task per list and return all committables."""
        prepared: list[Any] = []
        for values in tasks:
            writer = self.writer()
            writer.write(values)
            prepared += writer.prepare_commit()
        return prepared

    @property
    def visible(self) -> list[str]:
        """The lines a reader sees that skips names starting with an underscore."""
        return sorted(
            line
            for path, data in self.store.objects.items()
            if not any(name.startswith("_") for name in path.key.split("/"))
            for line in data.decode().splitlines()
        )


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Objects:
    made = Objects()
    for module in (object_commits, uploaded_files):
        monkeypatch.setattr(module, "store_of", lambda *_: made.store)
    return made


def test_files_are_seen_when_their_epoch_is_committed(objects: Objects) -> None:
    driver = objects.started()
    staged = objects.stage(["a", "b"], ["c"], [])
    assert objects.visible == []
    driver.commit("live-0", staged)
    assert objects.visible == ["a", "b", "c"]
    assert len(staged) == 2
    driver.commit("live-0", objects.stage(["again"]))
    assert objects.visible == ["a", "b", "c"]
    assert objects.store.open == {}


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.CSV, FileFormat.JSON])
def test_every_format_is_written_whole(objects: Objects, file_format: FileFormat) -> None:
    row = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
    driver, context = objects.started(), replace(objects.context(), type_info=row)
    writer = UploadedFileWriter(OUT, file_format, context, objects.naming, None, "seq")
    writer.write([("a", 1), ("b", 2)])
    writer.write([("c", 3)])
    (staged,) = writer.prepare_commit()
    driver.commit("live-0", [staged])
    data = objects.store.objects[OUT / staged.name]
    assert (staged.record_count, staged.byte_count) == (3, len(data))
    read = READ[file_format](io.BytesIO(data))
    assert [(each["key"], each["n"], each["seq"]) for each in read] == [
        ("a", 1, 0),
        ("b", 2, 1),
        ("c", 3, 2),
    ]


def test_an_epoch_without_files_stays_without(objects: Objects) -> None:
    objects.started().commit("live-0", [])
    objects.started().commit("live-0", objects.stage(["late"]))
    assert objects.visible == []


def test_names_have_the_job_the_sink_and_the_bucket(objects: Objects) -> None:
    objects.naming = FileNaming(
        suffix=".log", buckets=BucketAssigner.date_time_bucket_assigner("yyyy", "UTC")
    )
    driver = objects.started()
    (staged,) = objects.stage(["a"])
    driver.commit("live-0", [staged])
    year, _, name = staged.name.partition("/")
    assert year.isdigit()
    assert name.startswith("part-01234567-s3-")
    assert name.endswith(".log")
    assert OUT / staged.name in objects.store.objects


def test_uploads_of_tasks_that_were_killed_are_dropped(objects: Objects) -> None:
    killed, other = objects.writer(), ObjectPath("sales", "out/part-of-somebody-else.txt")
    killed.write(["x"])
    objects.store.begin_upload(other)
    beside = objects.store.begin_upload(OUT / f"part-01234567-s3-more-{'0' * 32}.txt")
    objects.stage(["y"])
    objects.started()
    assert {upload.path for upload in objects.store.open} == {other, beside.path}
    assert objects.visible == []


def test_a_writer_that_aborts_leaves_nothing(objects: Objects) -> None:
    writer = objects.writer()
    writer.write(["x"])
    writer.abort()
    finished = objects.writer()
    finished.write(["x"])
    finished.prepare_commit()
    finished.abort()
    assert objects.store.open == {}


def test_old_manifests_and_marks_are_deleted(objects: Objects) -> None:
    driver = objects.started()
    for number in range(5):
        driver.commit(f"live-{number}", objects.stage([str(number)]))
    private = [path.name for path in objects.store.objects if "_penstock" in path.key]
    assert sorted(private) == [
        "1.json",
        "1.taken",
        "live-2.1.done",
        "live-3.1.done",
        "live-3.1.json",
        "live-4.1.done",
        "live-4.1.json",
    ]
    objects.started().commit("live-4", objects.stage(["again"]))
    private = [path.name for path in objects.store.objects if "_penstock" in path.key]
    assert {"2.json", "2.taken", "live-4.1.json"} <= set(private)
    assert not {"1.json", "1.taken", "live-2.1.done"} & set(private)
    assert objects.visible == ["0", "1", "2", "3", "4"]


class Interrupted:
    """Calls of a store, at one of which something happens, before or after it."""

    def __init__(self, store: MemoryStore, place: int, *, is_after: bool) -> None:
        self._store = store
        self._left = place
        self._is_after = is_after
        self.is_over = False

    def arm(self, happening: Callable[[], None]) -> None:
        def hook(_: str) -> None:
            self._left -= 1
            if self._left < 0 and not self.is_over:
                self.is_over = True
                self.disarm()
                happening()

        setattr(self._store, "after" if self._is_after else "before", hook)

    def disarm(self) -> None:
        self._store.before = self._store.after = lambda _: None


def raise_crash() -> None:
    raise Crash


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("is_recorded", [False, True], ids=["computed-again", "recorded"])
def test_a_crash_at_every_call(
    monkeypatch: pytest.MonkeyPatch, *, is_after: bool, is_recorded: bool
) -> None:
    """The next driver commits the same files (they were recorded), or those of tasks that ran again."""
    for place in count():
        made = Objects()
        for module in (object_commits, uploaded_files):
            monkeypatch.setattr(module, "store_of", lambda *_, made=made: made.store)
        driver = made.started()
        driver.commit("live-0", made.stage(["0"]))
        staged = made.stage(["a1"], ["a2"], ["a3"])
        interrupted = Interrupted(made.store, place, is_after=is_after)
        interrupted.arm(raise_crash)
        try:
            driver.commit("live-1", staged)
        except Crash:
            pass
        else:
            interrupted.disarm()
            assert place >= 6, "there are calls"
            break
        successor = made.driver()
        if is_recorded:
            successor.commit("live-1", staged)
            successor.recover()
        else:
            successor.recover()
            successor.commit("live-1", made.stage(["b1"], ["b2"]))
        successor.commit("live-2", made.stage(["2"]))
        assert made.visible in (["0", "2", "a1", "a2", "a3"], ["0", "2", "b1", "b2"]), place
        assert not is_recorded or "a1" in made.visible
        assert made.store.open == {}


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_crash_at_every_call_of_a_recovery(
    monkeypatch: pytest.MonkeyPatch, *, is_after: bool
) -> None:
    for place in count():
        made = Objects()
        for module in (object_commits, uploaded_files):
            monkeypatch.setattr(module, "store_of", lambda *_, made=made: made.store)
        half_done(made, "live-0", ["a1"], ["a2"])
        interrupted = Interrupted(made.store, place, is_after=is_after)
        interrupted.arm(raise_crash)
        try:
            made.started()
        except Crash:
            made.started()
            assert made.visible == ["a1", "a2"], place
            assert made.store.open == {}
        else:
            interrupted.disarm()
            assert place >= 6, "there are calls"
            break


def half_done(made: Objects, epoch: str, *tasks: list[str]) -> None:
    """Decide an epoch, and complete one of its uploads."""
    driver = made.started()
    staged = made.stage(*tasks)
    completed: list[str] = []

    def crash(name: str) -> None:
        if name == "complete_upload":
            completed.append(name)
            raise Crash

    made.store.after = crash
    with pytest.raises(Crash):
        driver.commit(epoch, staged)
    made.store.after = lambda _: None


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("recovers_first", [False, True])
def test_a_driver_that_is_replaced_at_every_call(
    monkeypatch: pytest.MonkeyPatch, *, is_after: bool, recovers_first: bool
) -> None:
    """The call may be a list that takes long: what it gives is old when the driver gets it."""
    fenced = 0
    for place in count():
        made = Objects()
        for module in (object_commits, uploaded_files):
            monkeypatch.setattr(module, "store_of", lambda *_, made=made: made.store)
        first = made.started()
        staged = made.stage(["a1"], ["a2"])
        successors: list[UploadedFileCommitter] = []

        def replace(made: Objects = made, found: list[UploadedFileCommitter] = successors) -> None:
            found.append(made.started())
            found[0].commit("live-0", made.stage(["b1"]))

        interrupted = Interrupted(made.store, place, is_after=is_after)
        interrupted.arm(replace)
        try:
            if recovers_first:
                first.recover()
            first.commit("live-0", staged)
        except (JobFencedError, SinkError):
            fenced += 1
        interrupted.disarm()
        if not successors:
            assert fenced, "the first driver was replaced in time"
            break
        successors[0].commit("live-1", made.stage(["1"]))
        assert made.visible in (["1", "a1", "a2"], ["1", "b1"]), place
        made.started().commit("live-2", made.stage(["2"]))
        assert made.visible in (["1", "2", "a1", "a2"], ["1", "2", "b1"]), place


def test_the_fence_of_the_job_is_asked_before_anything_is_visible(objects: Objects) -> None:
    is_replaced = False

    def fence() -> None:
        if is_replaced:
            raise JobFencedError("replaced", hint="Leave it.")

    driver = objects.driver(fence)
    driver.recover()
    staged = objects.stage(["a"])
    is_replaced = True
    with pytest.raises(JobFencedError):
        driver.commit("live-0", staged)
    with pytest.raises(JobFencedError):
        driver.recover()
    assert objects.visible == []
    assert len(objects.store.open) == 1, "it drops nothing either"


def test_a_failed_commit_can_be_repeated(objects: Objects) -> None:
    """Nobody knows whether the manifest is there, and the tasks may have run again meanwhile."""
    driver = objects.started()
    staged = objects.stage(["a"])

    def lose(name: str) -> None:
        if name == "write":
            raise OSError(5, "the answer was lost")

    objects.store.after = lose
    with pytest.raises(SinkError, match="answer was lost") as caught:
        driver.commit("live-0", staged)
    assert caught.value.origin == CallSite("job.py", 41, "build")
    objects.store.after = lambda _: None
    driver.commit("live-0", objects.stage(["b"]))
    assert objects.visible == ["a"], "the manifest was there, so it counts"
    driver.commit("live-1", objects.stage(["c"]))
    assert objects.visible == ["a", "c"]


def test_a_file_whose_upload_is_gone_is_told(objects: Objects) -> None:
    driver = objects.started()
    (staged,) = objects.stage(["a"])
    objects.store.open.clear()
    with pytest.raises(SinkError, match="is lost") as caught:
        driver.commit("live-0", [staged])
    assert "rule" in caught.value.hint


def test_a_damaged_manifest_is_told(objects: Objects) -> None:
    objects.started().commit("live-0", objects.stage(["a"]))
    (path,) = [path for path in objects.store.objects if path.name == "live-0.1.json"]
    objects.store.objects[path] = objects.store.objects[path].replace(b"live", b"dead", 1)
    with pytest.raises(SinkError, match="damaged"):
        objects.started()


def test_a_manifest_is_readable(objects: Objects) -> None:
    (staged,) = objects.stage(["a"])
    assert isinstance(staged, UploadedFile)
    objects.started().commit("live-0", [])
    driver = objects.started()
    (staged,) = objects.stage(["a"])
    driver.commit("live-1", [staged])
    (path,) = [path for path in objects.store.objects if path.name == "live-1.2.json"]
    payload = json.loads(objects.store.objects[path].splitlines()[0])
    assert (payload["epoch"], payload["driver"], payload["sequence"]) == ("live-1", 2, 2)
    assert payload["files"] == [
        {
            "name": staged.name,
            "upload_id": staged.upload_id,
            "parts": [[1, staged.parts[0].etag, staged.parts[0].crc32]],
            "records": 1,
            "bytes": 2,
        }
    ]

"""Exactly once for files, against a model that knows only which epochs were decided.

The state machine finds wrong interleavings of tasks, commits, crashes at failpoints and
recoveries. `test_crash_at_every_system_call` finds a wrong order of durable steps within one
commit. Neither can find a missing fsync: that takes a loss of power.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.connectors.files import file_commits
from penstock.connectors.files.file_commits import StagedFileCommitter
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.staged_files import StagedFile, StagedFileWriter
from penstock.errors import CallSite, SinkError
from penstock.graph.endpoints import SinkContext
from penstock.types import PickledBytesTypeInfo
from penstock.wire.atomic_file import write_verified

FAILPOINTS = ("sink.manifest-written", "sink.renamed-first", "sink.committed")


class Crash(BaseException):
    """The process ends here. No `except Exception` may notice."""


@contextmanager
def crash_at(failpoint: str | None) -> Iterator[None]:
    """Crash when the named failpoint is passed."""

    def armed(name: str) -> None:
        assert name in FAILPOINTS
        if name == failpoint:
            raise Crash(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_commits, "failpoint", armed)
        yield


def visible(directory: Path) -> Counter[str]:
    """Return the lines a reader sees that skips names starting with an underscore."""
    found: Counter[str] = Counter()
    for path in directory.iterdir():
        if not path.name.startswith("_"):
            found.update(path.read_text().splitlines())
    return found


def staged_names(directory: Path) -> list[str]:
    return [path.name for path in directory.glob("_penstock/*/*/staging/*")]


class Files:
    """A text sink in one directory, driven by hand."""

    def __init__(self, directory: Path, sink_id: str = "s3") -> None:
        self.directory = directory
        self.context = SinkContext(
            job_id="0123456789abcdef",
            sink_id=sink_id,
            subtask=0,
            type_info=PickledBytesTypeInfo(),
            name="out",
            origin=CallSite("job.py", 41, "build"),
            scratch=directory,
        )
        self.committer = StagedFileCommitter(directory, self.context)

    def restart(self) -> None:
        self.committer = StagedFileCommitter(self.directory, self.context)
        self.committer.recover()

    def writer(self) -> StagedFileWriter:
        return StagedFileWriter(self.directory, FileFormat.TEXT, self.context)

    def stage(self, *tasks: list[str]) -> list[Any]:
        """Run one task per list and return all committables."""
        prepared: list[Any] = []
        for values in tasks:
            writer = self.writer()
            writer.write(values)
            prepared += writer.prepare_commit()
        return prepared


class ExactlyOnce(RuleBasedStateMachine):
    """One job from start to end, with whatever tasks and crashes.

    Values are unique, so a repetition or loss shows. `decided` is the whole model: it takes
    the first values that a commit of the epoch got past the manifest with.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.files = Files(self.directory / "out")
        self.epoch = 0
        self.run = "batch"
        self.decided: dict[str, list[str]] = {}
        self.prepared: list[Any] = []
        self.prepared_values: list[str] = []
        self.n_values = 0
        self.settled = True
        self.killed: list[StagedFileWriter] = []

    @initialize()
    def start(self) -> None:
        self.files.restart()

    def _values(self, count: int) -> list[str]:
        self.n_values += count
        return [f"v{number}" for number in range(self.n_values - count, self.n_values)]

    @precondition(lambda self: self.settled)
    @rule(counts=st.lists(st.integers(0, 3), max_size=3))
    def task(self, counts: list[int]) -> None:
        writer = self.files.writer()
        for count in counts:
            values = self._values(count)
            writer.write(values)
            self.prepared_values += values
        self.prepared += writer.prepare_commit()

    @precondition(lambda self: self.settled)
    @rule(count=st.integers(0, 3), aborted=st.booleans())
    def failing_task(self, count: int, aborted: bool) -> None:
        writer = self.files.writer()
        writer.write(self._values(count))
        if aborted:
            writer.abort()
        else:
            self.killed.append(writer)

    @precondition(lambda self: self.settled)
    @rule(crash=st.none() | st.sampled_from(FAILPOINTS))
    def commit(self, crash: str | None) -> None:
        epoch = f"{self.run}-{self.epoch}"
        # Every failpoint is behind the decision.
        self.decided.setdefault(epoch, self.prepared_values)
        try:
            with crash_at(crash):
                self.files.committer.commit(epoch, self.prepared)
        except Crash:
            self.settled = False
        self.prepared, self.prepared_values = [], []

    @precondition(lambda self: self.settled)
    @rule(new_run=st.booleans())
    def next_epoch(self, new_run: bool) -> None:
        if f"{self.run}-{self.epoch}" in self.decided and not self.prepared:
            self.epoch += 1
            if new_run and self.run == "batch":
                self.run, self.epoch = "live", 0

    @rule()
    def crash(self) -> None:
        self.settled = False

    @rule()
    def recover(self) -> None:
        self.files.restart()
        self.prepared, self.prepared_values = [], []
        self.settled = True
        assert staged_names(self.files.directory) == []

    @invariant()
    def visible_is_what_was_decided(self) -> None:
        if not self.settled:
            return
        expected = Counter(value for values in self.decided.values() for value in values)
        assert visible(self.files.directory) == expected
        manifests = list(self.files.directory.glob("_penstock/*/*/commits/*.json"))
        assert len(manifests) <= 2

    def teardown(self) -> None:
        self.recover()
        self.visible_is_what_was_decided()
        for writer in self.killed:
            writer.abort()  # closes the files that the kernel would close
        shutil.rmtree(self.directory)


TestExactlyOnce = ExactlyOnce.TestCase
TestExactlyOnce.settings = settings(
    max_examples=80, stateful_step_count=25, deadline=None, database=None
)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    started = Files(tmp_path / "out")
    started.restart()
    return started


def crash_after(n_calls: int, patch: pytest.MonkeyPatch) -> list[str]:
    """Crash instead of the call after `n_calls` that would change the disk."""
    calls: list[str] = []

    def counted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if len(calls) == n_calls:
                raise Crash(name)
            calls.append(name)
            return original(*args, **kwargs)

        return call

    patch.setattr(os, "fsync", counted("fsync", os.fsync))
    for name in ("replace", "unlink", "touch"):
        patch.setattr(Path, name, counted(name, getattr(Path, name)))
    return calls


@pytest.mark.parametrize("n_calls", range(30))
def test_crash_at_every_system_call(files: Files, n_calls: int) -> None:
    for number in range(3):
        files.committer.commit(f"live-{number}", files.stage([f"old{number}"]))
    old = Counter({f"old{number}": 1 for number in range(3)})
    first = files.stage(["a0", "a1"], ["a2"])
    with pytest.MonkeyPatch.context() as patch:
        crash_after(n_calls, patch)
        try:
            files.committer.commit("live-3", first)
        except Crash:
            pass
        else:
            assert n_calls >= 10, "the commit made fewer calls than it must have"
    decided = (files.directory / "_penstock/0123456789abcdef/s3/commits/live-3.json").exists()
    with pytest.MonkeyPatch.context() as patch:
        crash_after(n_calls // 2, patch)
        with suppress(Crash):
            files.restart()
    files.restart()
    assert staged_names(files.directory) == []
    assert visible(files.directory) == old + Counter(["a0", "a1", "a2"] if decided else [])
    files.committer.commit("live-3", files.stage(["b0"], ["b1", "b2"], ["b3"]))
    new = ["a0", "a1", "a2"] if decided else ["b0", "b1", "b2", "b3"]
    assert visible(files.directory) == old + Counter(new)
    assert staged_names(files.directory) == []


def test_names_tell_job_sink_epoch_and_number(files: Files) -> None:
    files.committer.commit("live-7", files.stage(["a"], ["b"]))
    names = sorted(path.name for path in files.directory.iterdir())
    assert names == [
        "_penstock",
        "part-01234567-s3-live-7-0.txt",
        "part-01234567-s3-live-7-1.txt",
    ]


def test_epoch_without_files_stays_without_files(files: Files) -> None:
    files.committer.commit("live-0", [])
    files.restart()
    files.committer.commit("live-0", files.stage(["late"]))
    assert visible(files.directory) == Counter()
    assert staged_names(files.directory) == []


def test_two_sinks_of_one_directory_do_not_touch_each_other(tmp_path: Path) -> None:
    one, other = Files(tmp_path), Files(tmp_path, "s4")
    one.restart()
    staged = one.stage(["one"])
    other.restart()
    one.committer.commit("live-0", staged)
    other.committer.commit("live-0", other.stage(["other"]))
    one.restart()
    assert visible(tmp_path) == Counter(["one", "other"])


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"epoch":"live-0"}\ncrc32 00000000\n'])
def test_damaged_manifest_is_refused(files: Files, damage: bytes) -> None:
    files.committer.commit("live-0", files.stage(["a"]))
    manifest = files.directory / "_penstock/0123456789abcdef/s3/commits/live-0.json"
    manifest.write_bytes(damage)
    for call in (files.restart, lambda: files.committer.commit("live-0", [])):
        with pytest.raises(SinkError) as caught:
            call()
        assert caught.value.code == "SINK"
        assert str(manifest) in caught.value.problem


def test_deleting_a_damaged_manifest_writes_the_epoch_again(files: Files) -> None:
    files.committer.commit("live-0", files.stage(["a"]))
    (files.directory / "_penstock/0123456789abcdef/s3/commits/live-0.json").unlink()
    files.committer.commit("live-0", files.stage(["b"]))
    assert visible(files.directory) == Counter(["b"])


def crash_before_second_rename(files: Files) -> None:
    with crash_at("sink.renamed-first"), pytest.raises(Crash):
        files.committer.commit("live-0", files.stage(["a"], ["b"]))


def test_lost_file_is_named_until_its_loss_is_accepted(files: Files) -> None:
    crash_before_second_rename(files)
    lost = files.directory / "part-01234567-s3-live-0-1.txt"
    for name in staged_names(files.directory):
        (files.directory / "_penstock/0123456789abcdef/s3/staging" / name).unlink()
    with pytest.raises(SinkError) as caught:
        files.restart()
    assert str(lost) in caught.value.problem
    (files.directory / "_penstock/0123456789abcdef/s3/commits/live-0.done").touch()
    files.restart()
    assert visible(files.directory) == Counter(["a"])


def test_reader_may_move_committed_files_away(files: Files) -> None:
    files.committer.commit("live-0", files.stage(["a"]))
    (files.directory / "part-01234567-s3-live-0-0.txt").unlink()
    files.restart()
    files.committer.commit("live-0", files.stage(["a"]))
    assert visible(files.directory) == Counter()


@pytest.mark.parametrize("byte_count", [0, 3])
def test_staged_file_that_is_not_as_written_is_refused(files: Files, byte_count: int) -> None:
    (staged,) = files.stage(["a"])
    with pytest.raises(SinkError, match=staged.name):
        files.committer.commit("live-0", [StagedFile(staged.name, 1, byte_count)])
    files.committer.commit("live-0", [staged])
    assert visible(files.directory) == Counter(["a"])


def test_staged_file_on_another_machine_is_refused(files: Files) -> None:
    with pytest.raises(SinkError, match="missing") as caught:
        files.committer.commit("live-0", [StagedFile("elsewhere.txt", 1, 2)])
    assert "share" in caught.value.hint


@pytest.mark.parametrize("below", ["", "child/grandchild"])
def test_directory_that_cannot_be_created_is_refused_at_recover(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")
    sink = Files(tmp_path / "file" / below)
    with pytest.raises(SinkError) as caught:
        sink.restart()
    assert str(tmp_path / "file") in caught.value.problem
    assert "another path" in caught.value.hint
    assert caught.value.origin == sink.context.origin


def test_directory_that_became_unwritable_is_refused_at_recover(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(self: Path, *_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "touch", read_only)
    with pytest.raises(SinkError, match="Read-only") as caught:
        files.restart()
    assert "writable" in caught.value.hint


def test_failed_commit_can_be_finished(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = files.stage(["a"], ["b"])

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(SinkError, match="No space") as caught:
            files.committer.commit("live-0", staged)
    assert "resumes" in caught.value.hint
    files.committer.commit("live-0", staged)
    assert visible(files.directory) == Counter(["a", "b"])


def test_leftovers_of_interrupted_writes_are_removed(files: Files) -> None:
    commits = files.directory / "_penstock/0123456789abcdef/s3/commits"
    (commits / ".live-3.json.tmp").write_text("half")
    (commits / "live-1.done").touch()
    write_verified(commits / "live-2.json", {"epoch": "live-2", "sequence": 9, "names": []})
    files.restart()
    assert sorted(path.name for path in commits.iterdir()) == ["live-2.done", "live-2.json"]


def test_manifest_is_readable(files: Files) -> None:
    staged = files.stage(["a"])
    files.committer.commit("live-0", staged)
    manifest = files.directory / "_penstock/0123456789abcdef/s3/commits/live-0.json"
    payload = json.loads(manifest.read_text().splitlines()[0])
    assert payload == {"epoch": "live-0", "sequence": 1, "names": [staged[0].name]}

"""Small files are merged beside the commits, and every record is visible once.

`ExactlyOnce` finds wrong interleavings of tasks, commits, merges, crashes and drivers that wake up. The tests with processes
find what only a kill finds. The others say when files are merged, and what is told when it goes wrong.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.common import Duration, Types
from penstock.connectors.files import file_commits, file_merger
from penstock.connectors.files.hidden_files import UNPUBLISHED
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileFormat,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.errors import ArgumentError, CallSite, JobFencedError, SinkError
from penstock.graph.endpoints import Committer, EpochNumber, SinkContext
from penstock.types import PickledBytesTypeInfo, TypeInformation
from tests.connectors.sink_epochs import staged, started

COMMIT = ("sink.manifest-written", "sink.renamed-first", "sink.committed")
MERGE = (
    "compaction.begun",
    "compaction.merged",
    "compaction.decided",
    "compaction.shown",
    "compaction.one-deleted",
    "compaction.deleted",
)
ROW = Types.ROW_NAMED(["country", "n"], [Types.STRING(), Types.LONG()])
NEVER = FileCompactStrategy.builder().enable_compaction_on_checkpoint(1_000_000).build()
CONCAT = FileCompactor.concat_file_compactor()


def sink_of(
    directory: Path,
    strategy: FileCompactStrategy = NEVER,
    compactor: FileCompactor = CONCAT,
    file_format: FileFormat = FileFormat.TEXT,
    buckets: BucketAssigner | None = None,
) -> FileSink:
    suffix = f".{file_format.value}"
    return (
        FileSink.for_bulk_format(directory, file_format)
        .with_bucket_assigner(buckets or BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(OutputFileConfig.builder().with_part_suffix(suffix).build())
        .enable_compact(strategy, compactor)
        .build()
    )


def every(checkpoints: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).build()


def visible(directory: Path) -> Counter[str]:
    """Return the lines that a reader sees."""
    found: Counter[str] = Counter()
    for path in shown(directory):
        found.update(path.read_text().splitlines())
    return found


def shown(directory: Path) -> list[Path]:
    """Return the files that a reader sees."""
    paths = (path for path in directory.rglob("*") if path.is_file())
    return sorted(path for path in paths if path.relative_to(directory).parts[0] != "_penstock")


def hidden(directory: Path) -> list[Path]:
    return sorted(directory.glob("_penstock/*/*/hidden/*/files/*/*"))


def left_over(directory: Path) -> list[Path]:
    below = directory.glob("_penstock/*/*/hidden/*/*/**/*")
    return [path for path in below if path.is_file()]


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


@pytest.fixture
def context(tmp_path: Path) -> SinkContext:
    return context_of(tmp_path)


def context_of(directory: Path, type_info: TypeInformation | None = None) -> SinkContext:
    return SinkContext(
        job_id="0123456789abcdef",
        sink_id="s3",
        subtask=0,
        type_info=type_info or PickledBytesTypeInfo(),
        name="out",
        origin=CallSite("job.py", 41, "build"),
        scratch=directory / "job",
    )


@pytest.fixture
def run(tmp_path: Path, context: SinkContext) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def make(sink: FileSink | None = None, **other: Any) -> Run:
        made = Run(sink or sink_of(tmp_path / "out"), replace(context, **other))
        runs.append(made)
        return made

    yield make
    for each in runs:
        each.committer.close()


class Run:
    """A driver with one sink, and the epochs that it commits."""

    def __init__(self, sink: FileSink, context: SinkContext) -> None:
        self.sink = sink
        self.context = context
        self.committer: Committer = started(sink, context)

    @property
    def out(self) -> Path:
        assert isinstance(self.sink.path, Path)
        return self.sink.path

    def epoch(self, number: int, *values: Any) -> None:
        """Commit an epoch with a task per value."""
        handles = [each for value in values for each in staged(self.sink, self.context, value)]
        self.committer.commit(f"1-{number}", handles)


class TestWhen:
    def test_files_are_hidden_until_so_many_micro_batches_were_committed(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        driver = run(sink_of(tmp_path / "out", every(3)))
        driver.epoch(0, "a", "b")
        driver.epoch(1)
        assert visible(driver.out) == Counter()
        assert len(hidden(driver.out)) == 2
        driver.epoch(2, "c")
        wait_until(lambda: visible(driver.out) == Counter("abc"))
        assert [path.name for path in shown(driver.out)] == ["part-01234567-s3-1-0-0.text"]
        wait_until(lambda: not left_over(driver.out))
        driver.epoch(3, "d")
        assert visible(driver.out) == Counter("abc"), "the count begins anew"

    def test_files_are_merged_up_to_a_size(self, run: Callable[..., Run], tmp_path: Path) -> None:
        strategy = FileCompactStrategy.builder().set_size_threshold(8).build()
        driver = run(sink_of(tmp_path / "out", strategy))
        for number in range(3):
            driver.epoch(number, "ab")  # three bytes
        wait_until(lambda: visible(driver.out) == Counter(ab=3))
        driver.epoch(3, "ab", "as large as that")
        assert visible(driver.out) == Counter(ab=3) + Counter(["as large as that"])
        assert len(shown(driver.out)) == 2

    def test_files_are_not_hidden_longer_than_the_greatest_delay(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        delay = Duration.of_millis(300)
        strategy = FileCompactStrategy.builder().set_max_delay(delay).build()
        driver = run(sink_of(tmp_path / "out", strategy))
        began = time.monotonic()
        driver.epoch(0, "a")
        driver.epoch(1, "b")
        wait_until(lambda: visible(driver.out) == Counter("ab"))
        assert time.monotonic() - began >= 0.2, "by then one of them was not old"
        driver.committer.check_background()

    def test_all_is_visible_when_that_is_asked_for(self, run: Callable[..., Run]) -> None:
        driver = run()
        for number in range(20):
            driver.epoch(number, *"abc")
        assert visible(driver.out) == Counter()
        driver.committer.publish()
        assert visible(driver.out) == Counter({"a": 20, "b": 20, "c": 20})
        assert len(shown(driver.out)) == 1
        assert left_over(driver.out) == []
        driver.epoch(20, "d")
        assert visible(driver.out)["d"] == 0
        driver.committer.publish()
        assert visible(driver.out)["d"] == 1

    def test_output_of_a_batch_run_is_not_hidden(
        self, run: Callable[..., Run], context: SinkContext
    ) -> None:
        driver = run(epoch=EpochNumber(0, 0, is_whole_run=True))
        driver.epoch(0, "a", "b")
        assert visible(driver.out) == Counter("ab")

    def test_one_merge_is_not_larger_than_a_file_is_to_be(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        driver = run(
            FileSink.for_row_format(tmp_path / "out")
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=30))
            .enable_compact(every(1000), CONCAT)
            .build()
        )
        for number in range(10):
            driver.epoch(number, "9 bytes  ")
        driver.committer.publish()
        assert visible(driver.out) == Counter({"9 bytes  ": 10})
        assert [path.stat().st_size for path in shown(driver.out)] == [30, 30, 30, 10]

    def test_each_directory_has_files_of_its_own(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        buckets = BucketAssigner.by_columns("country")
        sink = sink_of(tmp_path / "out", file_format=FileFormat.PARQUET, buckets=buckets)
        driver = run(sink, type_info=ROW)
        for number in range(4):
            driver.epoch(number, ("DE", number), ("a/b@c~d", number), (None, number))
        driver.committer.publish()
        found = {
            path.parent.name: pyarrow.parquet.ParquetFile(path).read()["n"].to_pylist()
            for path in shown(driver.out)
        }
        names = ("DE", "a%2Fb@c~d", "__HIVE_DEFAULT_PARTITION__")
        assert found == {f"country={name}": [0, 1, 2, 3] for name in names}

    def test_files_are_left_as_they_are_by_the_identical_compactor(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        compactor = FileCompactor.identical_file_compactor()
        driver = run(sink_of(tmp_path / "out", every(2), compactor))
        driver.epoch(0, "a", "b")
        assert visible(driver.out) == Counter()
        driver.epoch(1)
        wait_until(lambda: visible(driver.out) == Counter("ab"))
        assert len(shown(driver.out)) == 2

    def test_several_threads_merge_several_directories(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        strategy = replace(every(2), threads=3)
        buckets = BucketAssigner.by_columns("country")
        sink = sink_of(tmp_path / "out", strategy, CONCAT, FileFormat.PARQUET, buckets)
        driver = run(sink, type_info=ROW)
        for number in range(12):
            driver.epoch(number, *((f"c{n}", number) for n in range(8)))
        driver.committer.publish()
        tables = [pyarrow.parquet.ParquetFile(path).read() for path in shown(driver.out)]
        assert sum(len(table) for table in tables) == 96
        assert len(tables) < 96


class TestNextDriver:
    def test_a_new_driver_goes_on_with_what_is_hidden(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        sink = sink_of(tmp_path / "out", every(3))
        run(sink).epoch(0, "a")
        driver = run(sink)
        driver.epoch(1, "b")
        assert visible(driver.out) == Counter()
        driver.epoch(2)
        wait_until(lambda: visible(driver.out) == Counter("ab"))

    def test_a_driver_that_merges_no_files_shows_what_is_hidden(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        first = run()
        first.epoch(0, "a")
        first.epoch(1, "b")
        plain = FileSink.text(tmp_path / "out")
        driver = run(plain)
        assert visible(driver.out) == Counter("ab")
        assert hidden(driver.out) == []
        driver.epoch(2, "c")
        assert visible(driver.out) == Counter("abc")

    def test_files_of_another_format_are_not_merged(
        self, run: Callable[..., Run], tmp_path: Path
    ) -> None:
        run(sink_of(tmp_path / "out")).epoch(0, "a")
        driver = run(sink_of(tmp_path / "out", file_format=FileFormat.JSON))
        driver.epoch(1, "b")
        driver.committer.publish()
        assert visible(driver.out) == Counter(["a", '"b"'])

    def test_a_job_with_hidden_output_is_marked(
        self, run: Callable[..., Run], context: SinkContext
    ) -> None:
        driver = run()
        mark = context.scratch / UNPUBLISHED / "s3"
        driver.epoch(0, "a")
        assert mark.exists()
        again = run()
        assert mark.exists()
        again.committer.publish()
        assert not mark.exists()
        again.epoch(1, "b")
        assert mark.exists()

    @pytest.mark.parametrize("step", MERGE)
    def test_a_driver_that_wakes_up_in_a_merge_changes_nothing(
        self, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        replaced = threading.Event()
        reached, goes_on = threading.Event(), threading.Event()

        def may_commit() -> None:
            if replaced.is_set():
                raise JobFencedError("another driver", hint="Leave it.")

        zombie = run(may_commit=may_commit)
        for number in range(3):
            zombie.epoch(number, *"ab")

        def freeze(name: str) -> None:
            if name == step and not reached.is_set():
                reached.set()
                assert goes_on.wait(30)

        monkeypatch.setattr(file_merger, "failpoint", freeze)
        publishing = threading.Thread(target=_ignoring(zombie.committer.publish))
        publishing.start()
        assert reached.wait(30)
        driver = run()
        replaced.set()
        driver.epoch(3, "c")
        goes_on.set()
        publishing.join(30)
        driver.committer.publish()
        assert visible(driver.out) == Counter({"a": 3, "b": 3, "c": 1})
        assert left_over(driver.out) == []
        with pytest.raises(JobFencedError):
            zombie.epoch(4, "d")
        assert visible(driver.out) == Counter({"a": 3, "b": 3, "c": 1})

    @pytest.mark.parametrize("step", COMMIT[:2])
    def test_a_driver_that_wakes_up_in_a_commit_changes_nothing(
        self, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        replaced = threading.Event()

        def may_commit() -> None:
            if replaced.is_set():
                raise JobFencedError("another driver", hint="Leave it.")

        zombie = run(may_commit=may_commit)
        zombie.epoch(0, "a")

        def other_driver(name: str) -> None:
            if name == step and not replaced.is_set():
                replaced.set()
                driver = run()
                driver.committer.publish()
                assert visible(driver.out) == Counter("aabc")

        with monkeypatch.context() as patch:
            patch.setattr(file_commits, "failpoint", other_driver)
            _ignoring(lambda: zombie.epoch(1, "a", "b", "c"))()
        assert replaced.is_set()
        assert visible(zombie.out) == Counter("aabc")
        assert left_over(zombie.out) == []

    def test_what_a_driver_that_wakes_up_has_taken_is_taken_back(
        self, run: Callable[..., Run]
    ) -> None:
        """It asked the fence, was replaced, and renamed then; it can do no more."""
        driver = run()
        driver.epoch(0, "a", "b")
        (owner,) = driver.out.glob("_penstock/*/*/hidden/*")
        owner.rename(owner.with_name("of the other"))
        with pytest.raises(SinkError):
            driver.epoch(1, "c")
        driver.committer.recover()
        driver.committer.publish()
        assert visible(driver.out) == Counter("abc")

    def test_hidden_files_of_two_earlier_drivers_are_taken_over(
        self, run: Callable[..., Run]
    ) -> None:
        """A crash between two renames leaves two directories."""
        first = run()
        first.epoch(0, "a", "b")
        first.committer.close()
        (root,) = first.out.glob("_penstock/*/*/hidden")
        (owner,) = root.iterdir()
        shutil.copytree(owner, root / "other")
        for number, path in enumerate(sorted((root / "other" / "files").glob("*/*"))):
            path.rename(path.with_name(f"{9:012}~{number:06}~1-9~{number}.txt"))
        driver = run()
        driver.committer.publish()
        assert visible(driver.out) == Counter("aabb")
        assert len(list(root.iterdir())) == 1


def asked(committer: Committer) -> bool:
    """Ask whether something went wrong; it did not."""
    committer.check_background()
    return False


def _ignoring(call: Callable[[], None]) -> Callable[[], None]:
    def ignoring() -> None:
        # Which of the two depends on how far it came.
        with suppress(JobFencedError, SinkError):
            call()

    return ignoring


class TestFailures:
    def test_an_error_in_a_thread_is_raised_once_by_the_next_call(
        self, run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver = run(sink_of(tmp_path / "out", every(1)))

        def full(name: str) -> None:
            if name == "compaction.merged":
                raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(file_merger, "failpoint", full)
            driver.epoch(0, "a", "b")
            with pytest.raises(SinkError, match="No space left") as caught:
                wait_until(partial(asked, driver.committer))
        assert "resumes" in caught.value.hint
        assert caught.value.origin == driver.context.origin
        driver.epoch(1, "c")  # an attempt that is restarted commits before it recovers
        driver.committer.recover()
        driver.committer.publish()
        assert visible(driver.out) == Counter("abc")

    def test_publish_tells_what_went_wrong(
        self, run: Callable[..., Run], context: SinkContext
    ) -> None:
        driver = run()
        driver.epoch(0, "a", "b")
        hidden(driver.out)[0].unlink()
        with pytest.raises(SinkError, match="No such file"):
            driver.committer.publish()
        assert visible(driver.out) == Counter()
        assert (context.scratch / UNPUBLISHED / "s3").exists()

    def test_a_damaged_file_is_told(self, run: Callable[..., Run], tmp_path: Path) -> None:
        driver = run(sink_of(tmp_path / "out", file_format=FileFormat.PARQUET), type_info=ROW)
        driver.epoch(0, ("a", 1), ("b", 2))
        hidden(driver.out)[1].write_bytes(b"")
        with pytest.raises(Exception, match="Parquet"):
            driver.committer.publish()
        assert shown(driver.out) == []

    def test_a_damaged_record_of_a_merge_is_refused(
        self, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver = run()
        driver.epoch(0, "a", "b")
        with crash_at("compaction.decided"), pytest.raises(Crash):
            driver.committer.publish()
        (manifest,) = driver.out.glob("_penstock/*/*/hidden/*/merges/*.json")
        manifest.write_bytes(b"{}")
        with pytest.raises(SinkError, match="the record of a merge"):
            run()

    def test_a_reader_may_take_a_merged_file_away(self, run: Callable[..., Run]) -> None:
        driver = run()
        driver.epoch(0, "a", "b")
        with crash_at("compaction.shown"), pytest.raises(Crash):
            driver.committer.publish()
        (path,) = shown(driver.out)
        path.unlink()
        run().committer.publish()
        assert visible(driver.out) == Counter()


class TestSettings:
    def test_the_builder_says_when(self) -> None:
        strategy = (
            FileCompactStrategy.builder()
            .enable_compaction_on_checkpoint(5)
            .set_size_threshold(100)
            .set_num_compact_threads(2)
            .set_max_delay(Duration.of_seconds(1))
            .build()
        )
        assert strategy == FileCompactStrategy(5, 100, 2, 1_000)

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: FileCompactStrategy.builder().build(),
            lambda: FileCompactStrategy.builder().set_num_compact_threads(2).build(),
            lambda: FileCompactStrategy.builder().enable_compaction_on_checkpoint(0),
            lambda: FileCompactStrategy.builder().set_size_threshold(-1),
            lambda: FileCompactStrategy.builder().set_size_threshold(1.5),  # type: ignore[arg-type]
            lambda: FileCompactStrategy.builder().set_num_compact_threads(True),
            lambda: FileCompactStrategy.builder().set_max_delay(30),  # type: ignore[arg-type]
            lambda: FileCompactStrategy.builder().set_max_delay(Duration.of_nanos(1)),
            lambda: FileCompactor.concat_file_compactor("\n"),  # type: ignore[arg-type]
            lambda: FileSink.for_row_format("x").enable_compact(NEVER, None),  # type: ignore[arg-type]
            lambda: FileSink.for_row_format("x").enable_compact(None, CONCAT),  # type: ignore[arg-type]
            lambda: sink_of(Path("/x"), NEVER, FileCompactor(b"--"), FileFormat.PARQUET),
            lambda: sink_of(Path("/x"), NEVER, FileCompactor(b"--"), FileFormat.CSV),
        ],
    )
    def test_wrong_arguments(self, wrong: Callable[[], Any]) -> None:
        with pytest.raises(ArgumentError):
            wrong()

    def test_s3_is_refused(self) -> None:
        builder = FileSink.for_row_format("s3://bucket/out").enable_compact(NEVER, CONCAT)
        with pytest.raises(ArgumentError, match="s3") as caught:
            builder.build()
        assert "Delta" in caught.value.hint
        assert builder.disable_compact().build().compaction is None

    def test_a_sequence_column_keeps_the_compaction(self) -> None:
        sink = sink_of(Path("/x"), file_format=FileFormat.PARQUET)
        assert sink.with_sequence_column("seq").compaction == sink.compaction


class Crash(BaseException):
    """The process ends here. No `except Exception` may notice."""


@contextmanager
def crash_at(step: str | None) -> Iterator[None]:
    """Crash when a step is passed."""

    def armed(name: str) -> None:
        assert name in COMMIT + MERGE
        if name == step:
            raise Crash(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_commits, "failpoint", armed)
        patch.setattr(file_merger, "failpoint", armed)
        yield


class ExactlyOnce(RuleBasedStateMachine):
    """One job from start to end, with whatever tasks and crashes; drivers that crashed live on.

    Values are unique, so a repetition or loss shows. `decided` is the whole model.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.context = context_of(self.directory)
        self.sink = sink_of(self.directory / "out", every(3))
        self.old: list[Run] = []
        self.epoch = 0
        self.count = 0
        self.decided: dict[int, list[str]] = {}
        self.is_up = True

    @initialize()
    def start(self) -> None:
        self.run = Run(self.sink, self.context)

    @precondition(lambda self: self.is_up)
    @rule(count=st.integers(0, 3), crash=st.none() | st.sampled_from(COMMIT))
    def commit(self, count: int, crash: str | None) -> None:
        values = [f"v{self.count + n}" for n in range(count)]
        self.count += count
        self.decided.setdefault(self.epoch, values)  # every failpoint is behind the decision
        try:
            with crash_at(crash):
                self.run.epoch(self.epoch, *values)
        except Crash:
            self.is_up = False
        else:
            self.epoch += 1

    @precondition(lambda self: self.is_up)
    @rule(crash=st.none() | st.sampled_from(MERGE))
    def publish(self, crash: str | None) -> None:
        try:
            with crash_at(crash):
                self.run.committer.publish()
        except Crash:
            self.is_up = False
        else:
            assert visible(self.run.out) == self.expected

    @rule()
    def crash(self) -> None:
        self.is_up = False

    @rule()
    def next_driver(self) -> None:
        self.old.append(self.run)
        self.run = Run(self.sink, self.context)
        self.is_up = True

    @property
    def expected(self) -> Counter[str]:
        return Counter(value for values in self.decided.values() for value in values)

    @invariant()
    def nothing_is_visible_twice(self) -> None:
        # A file may be renamed while they are listed, and is found by the next look then.
        found: Counter[str] = Counter()
        for path in shown(self.directory / "out"):
            found.update(path.read_text().splitlines())
        assert found <= self.expected

    def teardown(self) -> None:
        self.next_driver()
        self.publish(None)
        assert left_over(self.run.out) == []
        for run in [*self.old, self.run]:
            run.committer.close()
        shutil.rmtree(self.directory)


TestExactlyOnce = ExactlyOnce.TestCase
TestExactlyOnce.settings = settings(
    max_examples=25, stateful_step_count=15, deadline=None, database=None
)

_DRIVER = """
import pickle, sys
from pathlib import Path
sink, context, handles = pickle.loads(Path(sys.argv[1]).read_bytes())
committer = sink.create_committer(context)
committer.recover()
committer.commit("1-3", handles)
committer.publish()
"""


@pytest.mark.parametrize("step", [*MERGE, "sink.renamed-first"])
def test_a_kill_at_every_step_loses_and_repeats_nothing(
    run: Callable[..., Run], tmp_path: Path, step: str
) -> None:
    driver = run()
    for number in range(3):
        driver.epoch(number, "a", "b")
    driver.committer.close()
    handles = staged(driver.sink, driver.context, "c") + staged(driver.sink, driver.context, "d")
    job = tmp_path / "killed-driver"
    job.write_bytes(pickle.dumps((driver.sink, driver.context, handles)))
    # The staged files are there when the process begins, and its recovery would drop them.
    kept = tmp_path / "kept"
    staging = driver.out / "_penstock/0123456789abcdef/s3/staging"
    shutil.copytree(staging, kept)
    script = _DRIVER.replace(
        "committer.commit(",
        f"import shutil; shutil.copytree({str(kept)!r}, {str(staging)!r}, dirs_exist_ok=True)\n"
        "committer.commit(",
    )
    killed = subprocess.run(
        [sys.executable, "-c", script, str(job)],
        env={**os.environ, "PENSTOCK_FAILPOINT": f"{step}:1:kill"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    found = visible(driver.out)
    assert found in (Counter(), Counter({"a": 3, "b": 3, "c": 1, "d": 1}))
    again = run()
    again.epoch(3, "other", "values")  # the epoch was decided before the kill
    again.committer.publish()
    assert visible(driver.out) == Counter({"a": 3, "b": 3, "c": 1, "d": 1})
    assert left_over(driver.out) == []

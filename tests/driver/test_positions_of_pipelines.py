"""The law of positions: a savepoint of a job that began from a savepoint has the positions of every source.

Jobs of several pipelines go from savepoint to savepoint without Spark. An epoch is what the positions and the
logs of files have of it; what a pipeline is given and what it records is the code that jobs run.
"""

from __future__ import annotations

import json
import random
import threading
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import WatermarkStrategy
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import DataGeneratorSource, HybridSource
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.run_settings import RunKind
from penstock.runtime.task.report import Report
from penstock.spark.driver.restore import match_savepoint
from penstock.spark.driver.restored import Restored
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.run_outline import RunOutline, outline_of, source_records
from penstock.spark.sources.listing.file_log import FileLog, PinnedFile
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import file_log_directory
from penstock.state.savepoint import Savepoint, SourceRecord, merged
from tests.runtime.jobs import MIXED, STREAMING, environment

FILES, HYBRID, SPLITS = "files", "hybrid", "splits"
KINDS = (FILES, HYBRID, SPLITS)
COUNT = 1000
RESTORED = ("splits", "left", "read", "names", "switches")


def source_of(kind: str, directory: str) -> Any:
    live = FileSource.text(f"{directory}/live").monitor_continuously()
    if kind == FILES:
        return live
    if kind == HYBRID:
        return HybridSource.builder(FileSource.text(f"{directory}/old")).add_source(live).build()
    return DataGeneratorSource(lambda i: i, count=COUNT)


def plan_of(pipelines: list[list[str]], mode: dict[str, str]) -> PhysicalPlan:
    """Return the plan of a job with one pipeline per list of kinds of sources."""
    env = environment(mode)
    for at, kinds in enumerate(pipelines):
        streams = []
        for number, kind in enumerate(kinds):
            name = f"{kind} {at} {number}"
            strategy = WatermarkStrategy.no_watermarks()
            stream = env.from_source(source_of(kind, f"/{name}"), strategy, name).uid(name)
            streams.append(stream.map(lambda v: (str(v), 1)))
        united = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        counted = united.key_by(lambda r: r[0]).sum(1)
        counted.uid(f"sum {at}").sink_to(DiscardingSink()).uid(f"out {at}")
    return env.plan()


def file_of(name: str, number: int) -> tuple[str, tuple[int, int]]:
    return f"file:///{name}/{number}", (number + 1, number)


class Job:
    """One job of a chain: it begins, reads some more in every pipeline, and gives a savepoint."""

    def __init__(self, plan: PhysicalPlan, directory: Path, savepoint: Savepoint | None) -> None:
        self.plan = plan
        self.directory = directory
        self.restored: Restored | None = None
        if savepoint is not None:
            matched = match_savepoint(
                plan, savepoint, directory, ignore_unclaimed=False, ignore_positions=False
            )
            self.restored = Restored.from_json(json.loads(json.dumps(matched.to_json())))
        sinks: Any = SimpleNamespace(restricted_to=lambda _: sinks)
        unused: Any = None
        self.context = JobContext(
            session=unused,
            plan=plan,
            configuration=unused,
            directory=SimpleNamespace(job_id="id"),  # type: ignore[arg-type]
            sinks=sinks,
            cancelled=threading.Event(),
            events=_Events(),  # type: ignore[arg-type]
            restored=self.restored,
        )

    def savepoint(self, draw: random.Random, read: dict[str, int]) -> Savepoint:
        """Read up to the given number of files or records of each source; return the savepoint."""
        parts = [self._part(pipeline.index, read) for pipeline in self.plan.pipelines]
        draw.shuffle(parts)
        whole = merged(parts)
        return Savepoint.from_json(json.loads(json.dumps(whole.to_json())))

    def _part(self, pipeline: int, read: dict[str, int]) -> Savepoint:
        context = self.context.of_pipeline(pipeline, threading.Event())
        if context.restored is not None:
            context.remember_read(context.restored.read)
        run = self._run_of(pipeline, context.restored)
        outline = RunOutline.from_json(
            json.loads(json.dumps(outline_of(self.plan, run, "id", "job").to_json()))
        )
        pinned, at = self._epoch(run, context, read)
        began = {} if context.restored is None else context.restored.began
        sources = source_records(outline, pinned, context.earlier, self.directory, at, began)
        return outline.savepoint("id", Report(), sources, (), drained=False)

    def _run_of(self, pipeline: int, restored: Restored | None) -> RunPlan:
        live = [run for run in self.plan.runs_of(pipeline) if run.kind is RunKind.LIVE]
        if restored is not None:
            assert live[-1].index in restored.goes_on
        return live[-1]

    def _epoch(
        self, run: RunPlan, context: JobContext, read: dict[str, int]
    ) -> tuple[Pinned, dict[str, Any]]:
        pinned = Pinned()
        at: dict[str, Any] = {}
        reached: dict[str, int] = {}
        for reading in run.readings:
            source = self.plan.source(reading.source)
            of, last = reading.source, reading.parts[-1]
            if last != reading.parts[0]:
                reached[str(of)] = last
            if source.name.startswith(SPLITS):
                known = context.restored and context.restored.splits.get((of, last))
                pinned.splits[of, last] = known or [(0, COUNT)]
                at[str(of)] = [read[source.name]]
                continue
            if last == 1 and context.restored is None:
                history = PinnedFiles(dict([file_of(f"{source.name}/old", 0)]), "")
                if 0 in reading.parts:
                    pinned.files[of, 0] = history
                else:
                    context.remember_read({(of, 0): history})
            before = context.earlier.get((of, last), PinnedFiles({}, ""))
            new = dict(file_of(source.name, n) for n in range(read[source.name]))
            listed = [PinnedFile(u, *f) for u, f in new.items() if u not in before.files]
            where = file_log_directory(self.directory, of)
            where.mkdir(parents=True, exist_ok=True)
            log = FileLog(where, lambda: None)
            log.open(0)
            assert not listed or log.add(listed)
            at[str(of)] = [len(listed)]
        return pinned, {"at": at, "parts": reached}


@dataclass(frozen=True)
class _Events:
    """Events of a job, which nobody listens to."""

    pipeline: str | None = None


def progress(records: tuple[SourceRecord, ...]) -> dict[str, Any]:
    """Return name to what was read: records of splits, or files by part."""
    found = {}
    for record in records:
        assert record.part == len(record.kinds) - 1, record
        if record.name.startswith(SPLITS):
            ((at, end),) = record.position["splits"]
            assert end == COUNT
            assert record.began == {"0": {"splits": [[0, COUNT]]}}
            found[record.name] = at
        else:
            found[record.name] = {int(p): len(each["files"]) for p, each in record.read.items()}
    return found


def expected(read: dict[str, int]) -> dict[str, Any]:
    return {
        name: n
        if name.startswith(SPLITS)
        else ({0: 1} if name.startswith(HYBRID) else {}) | {len(name.split(HYBRID)) - 1: n}
        for name, n in read.items()
    }


JOBS = st.lists(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3), min_size=1, max_size=4)


@pytest.mark.parametrize("mode", [STREAMING, MIXED], ids=["streaming", "mixed"])
@given(pipelines=JOBS, draw=st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_positions_survive_a_chain_of_savepoints(
    tmp_path_factory: pytest.TempPathFactory,
    mode: dict[str, str],
    pipelines: list[list[str]],
    draw: random.Random,
) -> None:
    plan = plan_of(pipelines, mode)
    savepoint, read = None, {source.name: 0 for source in plan.sources}
    for _ in range(4):
        read = {name: n + draw.randint(1, 3) for name, n in read.items()}
        job = Job(plan, tmp_path_factory.mktemp("job"), savepoint)
        savepoint = job.savepoint(draw, read)
        assert progress(savepoint.sources) == expected(read)


def test_a_pipeline_is_given_and_records_its_own_sources(tmp_path: Path) -> None:
    plan = plan_of([[HYBRID], [FILES, SPLITS]], STREAMING)
    read = {source.name: 2 for source in plan.sources}
    first = Job(plan, tmp_path / "1", None).savepoint(random.Random(1), read)  # noqa: S311 - any order
    context = Job(plan, tmp_path / "2", first).context
    for pipeline in plan.pipelines:
        restored = context.of_pipeline(pipeline.index, threading.Event()).restored
        assert restored is not None
        own = {*pipeline.sources}
        assert {key[0] for name in RESTORED for key in getattr(restored, name)} <= own
        assert {*restored.parts} == own
        run = plan.runs_of(pipeline.index)[-1]
        assert {each.id for each in outline_of(plan, run, "id", "job").sources} == own


@pytest.mark.parametrize("order", [1, -1])
def test_a_stale_record_of_an_earlier_version_does_not_win(order: int) -> None:
    """Parts that were recorded before pipelines had their own sources only: every one has all."""
    kinds = ("files",)
    files = PinnedFiles(dict(file_of("a", n) for n in range(4)), "").to_json()
    some = PinnedFiles(dict(file_of("a", n) for n in range(2)), "").to_json()
    right = SourceRecord("a", "a", kinds, 0, {}, {"0": files})
    stale = SourceRecord("a", "a", kinds, None, {}, {"0": some})
    parts = [
        Savepoint("x", "now", "id", "job", "live", 1, 128, sources=(each,))
        for each in (right, stale)
    ]
    assert merged(parts[::order]).sources == (right,)

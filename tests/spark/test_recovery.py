"""What of a savepoint goes where in a plan: by uid, whatever became of the graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import (
    CollectionSource,
    DataGeneratorSource,
    FileSource,
    HybridSource,
)
from penstock.errors import PenstockError, SavepointMismatchError
from penstock.plan.compat.function_digest import channel_ends, source_uids
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.plan.programs import programs_of
from penstock.program.channel import WatermarkGroup
from penstock.runtime.task.report import Report
from penstock.spark.driver.restore import match_savepoint
from penstock.spark.driver.restored import Restored
from penstock.spark.job.run_outline import RunOutline, outline_of, source_records
from penstock.spark.sources.listing.file_log import FileLog, PinnedFile
from penstock.spark.sources.listing.stream_writer import batch_directory, offsets_before
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Pinned
from penstock.state.savepoint import Savepoint, SourceRecord, StateFile, WatermarkRecord

NO_TIME = WatermarkStrategy.no_watermarks()
BOUNDED = CollectionSource.of([1, 2, 3])
ENDLESS = DataGeneratorSource(lambda i: i)
PATH = Path("savepoint")


def plan_of(sources, *, uids=("a", "b"), backlog=None, mode="STREAMING", parallelism=2):
    """Plan sources united, then one keyed operator after the other."""
    values = {"parallelism.default": parallelism, "execution.runtime-mode": mode}
    if backlog is not None:
        values["execution.checkpointing.interval-during-backlog"] = backlog
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))
    streams = [env.from_source(each, NO_TIME, name) for name, each in sources.items()]
    stream = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    for uid in uids:
        stream = stream.key_by(lambda v: v).map(lambda v: v).uid(uid).name(f"name of {uid}")
    stream.sink_to(DiscardingSink())
    return env.plan()


def savepoint_of(plan: PhysicalPlan, sources, **changes) -> Savepoint:
    """Return a savepoint of the last run of a plan, in which every operator has state."""
    outline = outline_of(plan, plan.runs[-1], "id", "job")
    uids = [op.uid for level in plan.levels for op in level.operators]
    report = Report(
        watermarks={
            channel.id: {s: 100 + s for s in channel.sources}
            if channel.source_level == 0
            else {-1: 50}
            for channel in plan.channels
            if channel.target_level != 255
        },
        memory={"a": 7},
    )
    files = (StateFile("f.parquet", 1, "00", tuple(uids)),)
    taken = outline.savepoint("sp", report, sources, files, drained=False)
    return replace(taken, **changes)


def record(uid="s-1", kinds=("generator",), part=0, position=None, read=None) -> SourceRecord:
    position = {"splits": [[5, None]]} if position is None else position
    return SourceRecord(uid, uid, kinds, part, position, read or {})


def match(plan: PhysicalPlan, savepoint: Savepoint, **ignore) -> Restored:
    both = {"ignore_unclaimed": False, "ignore_positions": False} | ignore
    return match_savepoint(plan, savepoint, PATH, **both)


def generator_kind() -> tuple[str]:
    return (ENDLESS.kind,)


@pytest.fixture
def taken():
    plan = plan_of({"s": ENDLESS})
    return savepoint_of(plan, (record(kinds=generator_kind()),))


def test_the_same_program_takes_everything_over(taken):
    restored = match(plan_of({"s": ENDLESS}, parallelism=3), taken)
    assert restored.goes_on == (0,)
    assert restored.splits == {(0, 0): [(5, None)]}
    assert restored.state_files == ("f.parquet",)
    assert restored.handed.memory == {"a": 7}
    assert restored.handed.watermarks == {0: {0: 100}, 1: {-1: 50}}
    assert Restored.from_json(restored.to_json()) == restored


def test_an_operator_between_two_others_inherits_the_time_of_the_next(taken):
    plan = plan_of({"s": ENDLESS}, uids=("a", "new", "b"))
    ends = channel_ends(plan)
    by_receiver = {ends[c][1]: marks for c, marks in match(plan, taken).handed.watermarks.items()}
    assert by_receiver == {"a": {0: 100}, "b": {-1: 50}}


def test_a_new_source_does_not_set_time_back(taken):
    plan = plan_of({"s": ENDLESS, "t": ENDLESS})
    restored = match(plan, taken)
    ids = {uid: source for source, uid in source_uids(plan).items()}
    assert set(restored.splits) == {(ids["s-1"], 0)}
    ends = channel_ends(plan)
    of_new = {c: m for c, m in restored.handed.watermarks.items() if ends[c] == ("t-1", "a")}
    assert list(of_new.values()) == [{ids["t-1"]: 100}]


def test_state_without_an_operator_is_refused_by_name(taken):
    plan = plan_of({"s": ENDLESS}, uids=("a",))
    with pytest.raises(SavepointMismatchError, match=r"'b' \(name of b\)") as refused:
        match(plan, taken)
    assert "ignore-unclaimed-state" in refused.value.hint
    assert match(plan, taken, ignore_unclaimed=True).goes_on == (0,)


def test_a_source_that_is_gone_is_refused_by_name(taken):
    gone = replace(taken, sources=(*taken.sources, record("lost-1", generator_kind())))
    with pytest.raises(SavepointMismatchError, match="lost-1"):
        match(plan_of({"s": ENDLESS}), gone)
    assert match(plan_of({"s": ENDLESS}), gone, ignore_unclaimed=True).splits


def test_another_kind_of_source_is_refused(taken):
    with pytest.raises(SavepointMismatchError, match=f"{ENDLESS.kind}.*{BOUNDED.kind}"):
        match(plan_of({"s": BOUNDED}), taken)


def test_another_number_of_key_groups_is_refused(taken):
    for groups in (48, 100, 256):
        with pytest.raises(SavepointMismatchError, match=f"{groups} key groups") as refused:
            match(plan_of({"s": ENDLESS}), replace(taken, max_parallelism=groups))
        assert f"to {groups}, or to twice that" in refused.value.hint
    # One of half as many is divided.
    match(plan_of({"s": ENDLESS}), replace(taken, max_parallelism=64))


def hybrid() -> HybridSource:
    return HybridSource.builder(BOUNDED).add_source(ENDLESS).build()


def hybrid_record() -> SourceRecord:
    return record(kinds=(BOUNDED.kind, ENDLESS.kind), part=1)


@pytest.mark.parametrize("backlog", [None, "0"])
def test_a_job_with_history_goes_on_in_the_run_that_was_running(backlog):
    plan = plan_of({"s": hybrid()}, backlog="0")
    taken = savepoint_of(plan, (hybrid_record(),))
    restored = match(plan_of({"s": hybrid()}, backlog=backlog), taken)
    assert (restored.goes_on, restored.splits) == ((1,), {(0, 1): [(5, None)]})


def test_a_new_source_with_history_is_refused_behind_the_history():
    taken = savepoint_of(plan_of({"s": hybrid()}), (hybrid_record(),))
    with pytest.raises(SavepointMismatchError, match=r"'t'.*history"):
        match(plan_of({"s": hybrid(), "t": hybrid()}, backlog="0"), taken)


def test_history_of_a_new_source_is_read_beside_the_live_input_of_others():
    taken = savepoint_of(plan_of({"s": hybrid()}), (hybrid_record(),))
    plan = plan_of({"s": hybrid(), "t": hybrid()})
    restored = match(plan, taken)
    assert (restored.goes_on, restored.skips) == ((0,), frozenset())
    ids = {uid: source for source, uid in source_uids(plan).items()}
    assert restored.splits == {(ids["s-1"], 1): [(5, None)]}
    passed = {(uid, part) for uid in ids for part in (0, 1) if restored.has_passed(ids[uid], part)}
    assert passed == {("s-1", 0)}


@pytest.mark.parametrize("part", [0, 1])
def test_a_source_that_waited_for_the_history_of_another_begins_beside_it(part):
    parts = (replace(hybrid_record(), part=part), record("t-1", generator_kind(), None, {}))
    plan = plan_of({"s": hybrid(), "t": ENDLESS})
    assert match(plan, savepoint_of(plan, parts)).goes_on == (0,)


def test_a_batch_job_cannot_go_on():
    taken = savepoint_of(plan_of({"s": BOUNDED}), (record(kinds=(BOUNDED.kind,)),))
    with pytest.raises(SavepointMismatchError, match="no live run"):
        match(plan_of({"s": BOUNDED}, mode="BATCH"), taken)


def test_files_left_and_files_read_are_taken_over():
    source = FileSource.text("in")
    left, read = (
        PinnedFiles({"file:///in/2": (1, 2)}, "{}"),
        PinnedFiles({"file:///in/1": (3, 4)}, "{}"),
    )
    position = {"left": left.to_json()}
    taken = savepoint_of(
        plan_of({"s": source}), (record("s-1", (source.kind,), 0, position, {"0": read.to_json()}),)
    )
    restored = match(plan_of({"s": source}), taken)
    assert (restored.left, restored.read) == ({(0, 0): left}, {(0, 0): read})
    assert Restored.from_json(restored.to_json()) == restored


def test_a_drained_savepoint_has_no_watermarks():
    plan = plan_of({"s": ENDLESS})
    outline = outline_of(plan, plan.runs[0], "id", "job")
    report = Report(watermarks={0: {0: 2**63 - 1}}, memory={"a": 7})
    assert outline.savepoint("sp", report, (), (), drained=True).watermarks == ()


def test_an_outline_survives_its_record():
    plan = plan_of({"s": hybrid(), "t": ENDLESS})
    outline = outline_of(plan, plan.runs[0], "id", "job")
    assert RunOutline.from_json(outline.to_json()) == outline


def log_of(run: Path, *names: str) -> None:
    (run / "files").mkdir()
    log = FileLog(run / "files" / "0", lambda: None)
    log.add([PinnedFile(f"file:///in%20dir/{name}", 1, 9) for name in names])


def test_positions_are_those_of_the_epoch(tmp_path):
    source = FileSource.text("/in dir").monitor_continuously()
    lines = DataGeneratorSource(str, type_info=Types.STRING())
    plan = plan_of({"files": source, "numbers": lines}, uids=())
    outline = outline_of(plan, plan.runs[0], "id", "job")
    log_of(tmp_path, "a", "b", "c", "d")
    pinned = Pinned(splits={(1, 0): [(10, None)]})
    earlier = {(0, 0): PinnedFiles({"file:///in%20dir/before": (1, 2)}, "")}
    at = {"at": {"0": [3], "1": [30]}}
    files, numbers = source_records(outline, pinned, earlier, tmp_path, at, {})
    assert numbers.position == {"splits": [[30, None]]}
    names = {uri.rsplit("/", 1)[-1] for uri in files.read["0"]["files"]}
    assert names == {"before", "a", "b", "c"}


def test_bounded_files_that_were_not_read_are_left(tmp_path):
    source = FileSource.text("/in dir")
    plan = plan_of({"files": source}, uids=())
    outline = outline_of(plan, plan.runs[0], "id", "job")
    pinned = {f"file:///in%20dir/{name}": (1, 2) for name in "ab"}
    given = Pinned(files={(0, 0): PinnedFiles(pinned, "{}")})
    (record_,) = source_records(outline, given, {}, tmp_path, {"at": {"0": [1]}}, {})
    assert list(record_.position["left"]["files"]) == ["file:///in%20dir/b"]
    assert list(record_.read["0"]["files"]) == ["file:///in%20dir/a"]


@pytest.mark.parametrize("text", ["", "v2\n{}\n{}", "nonsense"])
def test_offsets_of_another_layout_are_named(tmp_path, text):
    batch = batch_directory(tmp_path, 3)
    batch.mkdir()
    (batch / "_offsets").write_text(text)
    with pytest.raises(PenstockError, match="000000000003/_offsets"):
        offsets_before(tmp_path, 4)
    (batch / "_offsets").write_text('v1\n{}\n-\n{"logOffset":7}\n')
    assert offsets_before(tmp_path, 4) == [None, '{"logOffset":7}']
    assert offsets_before(tmp_path, 0) == [None]


def test_watermarks_of_a_savepoint_name_no_numbers():
    plan = plan_of({"s": ENDLESS})
    taken = savepoint_of(plan, ())
    assert taken.watermarks == (
        WatermarkRecord("s-1", "a", {"s-1": 100}),
        WatermarkRecord("a", "b", {"-1": 50}),
    )


def test_a_split_with_nothing_left_is_not_waited_for():
    """It would hold the watermark back for ever: nothing of it is read any more."""
    source = CollectionSource.of(range(10))
    plan = plan_of({"s": source})
    pinned = Pinned(splits={(0, 0): [(5, 5), (7, 10)]})
    programs = programs_of(
        plan,
        plan.runs[0],
        tasks=2,
        max_frame_records=10,
        handed=HandOver(),
        job_parameters={},
        open_splits=pinned.open_splits(),
    )
    assert programs[1].watermark_groups[0] == (WatermarkGroup(group=0, splits=1),)


# State of operators without a uid.


def reductions(*steps, sources=("s",), uids=None) -> PhysicalPlan:
    """Plan sources united, and one operator by key after the other, without uids."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": 2})
    )
    streams = [env.from_source(ENDLESS, NO_TIME, name) for name in sources]
    stream = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    for number, step in enumerate(steps):
        stream = stream.key_by(lambda v: v).reduce(step).name("reduce")
        if uids:
            stream.uid(uids[number])
    stream.sink_to(DiscardingSink())
    return env.plan()


def branches() -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_source(ENDLESS, NO_TIME, "s")
    for step in (max, min):
        numbers.key_by(lambda v: v).reduce(step).name("reduce").sink_to(DiscardingSink())
    return env.plan()


def taken_of(plan: PhysicalPlan) -> Savepoint:
    records = [record(uid, generator_kind()) for uid in source_uids(plan).values()]
    return savepoint_of(plan, tuple(replace(r, name=r.uid[:-2]) for r in records))


def test_state_without_a_uid_goes_to_the_same_place():
    restored = match(reductions(max, min), taken_of(reductions(max, min)))
    assert restored.state_files == ("f.parquet",)


@pytest.mark.parametrize("steps", [(sum, max, min), (max, sum, min), (max, min, sum), (max,)])
def test_state_without_a_uid_is_not_given_to_another_place(steps):
    taken = taken_of(reductions(max, min))
    assert len(taken.operators_with_state) == 2
    with pytest.raises(SavepointMismatchError, match="reduce-") as refused:
        match(reductions(*steps), taken)
    assert f".uid({taken.operators_with_state[0]!r})" in refused.value.hint
    assert match(reductions(*steps), taken, ignore_unclaimed=True)


def test_state_without_a_uid_is_claimed_by_naming_it():
    taken = taken_of(reductions(max))
    (uid,) = taken.operators_with_state
    assert match(reductions(sum, max, uids=["new", uid]), taken)


def test_state_that_fits_by_number_only_is_refused_whatever_is_ignored():
    taken = taken_of(branches())
    for ignored in (False, True):
        with pytest.raises(SavepointMismatchError, match="only their order") as refused:
            match(branches(), taken, ignore_unclaimed=ignored)
    assert "test_recovery.py" in str(refused.value.origin)


@pytest.mark.parametrize("now", [("s",), ("s", "s"), ("s", "s", "s")])
def test_positions_that_fit_by_number_only_are_refused(now):
    taken = taken_of(reductions(max, uids=["a"], sources=("s", "s")))
    with pytest.raises(SavepointMismatchError, match="only their order"):
        match(reductions(max, uids=["a"], sources=now), taken, ignore_unclaimed=True)


def test_a_source_of_a_name_that_several_have_now_is_refused():
    taken = taken_of(reductions(max, uids=["a"]))
    with pytest.raises(SavepointMismatchError, match="only their order"):
        match(reductions(max, uids=["a"], sources=("s", "s")), taken)


def test_what_a_savepoint_has_without_a_uid_is_known():
    taken = taken_of(reductions(max, min, uids=["a", "b"]))
    assert taken.unnamed_state == ()
    taken = taken_of(reductions(max))
    assert Savepoint.from_json(taken.to_json()).unnamed_state == taken.operators_with_state

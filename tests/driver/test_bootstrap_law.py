"""The law of a changed program: after its history was read again, it goes on as if it had always been there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import FileSink
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.plan.compat.evolution import PartStatus
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import SINK
from penstock.spark.upgrade.bootstrap import Bootstrap
from penstock.state.log.blob import operator_of
from penstock.testing import Way, WayMode
from penstock.testing.results import difference
from tests.driver.evolving import (
    Ranges,
    Segment,
    Upgraded,
    contents,
    from_the_beginning,
    stand_at,
    upgrade,
)
from tests.runtime.jobs import STREAMING, Splits, by_time, environment

EVENTS = tuple((f"k{n % 5}", n * 100 + n % 3, n % 7) for n in range(120))
SPLITS = (EVENTS,)
RULES = tuple((f"k{n}", 0, n) for n in range(5))
FIRST = {("events-1", 0): (0, 47)}
SECOND = {("events-1", 0): (47, 85)}
LARGE = OutputTag("large", Types.PICKLED_BYTE_ARRAY())


class Totals(KeyedProcessFunction):
    """Emits the total of a key at each record, and the sum of each 300 ms when they are over."""

    FACTOR = 1

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.sums = runtime_context.get_map_state(
            MapStateDescriptor("sums", Types.LONG(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        added = value[2] * self.FACTOR
        total = (self.total.value() or 0) + added
        self.total.update(total)
        end = ctx.timestamp() - ctx.timestamp() % 300 + 299
        self.sums.put(end, (self.sums.get(end) or 0) + added)
        ctx.timer_service().register_event_time_timer(end)
        if total > 15:
            yield LARGE, (value[0], value[1], total)
        yield value[0], value[1], total

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, -self.sums.get(timestamp)
        self.sums.remove(timestamp)


class TwiceAsMuch(Totals):
    FACTOR = 2


class Ruled(KeyedCoProcessFunction):
    """Counts records and rules of a key, in any order."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1)
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1000)
        return ()


NUMBERS = MapStateDescriptor("numbers", Types.STRING(), Types.LONG())


class Counted(KeyedBroadcastProcessFunction):
    """Counts the records of a key, and keeps rules that every subtask is given."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1)
        yield value[0], value[1], self.seen.value()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(NUMBERS).put(value[0], value[2])
        return ()


def key(record: Any) -> Any:
    return record[0]


def source(env: StreamExecutionEnvironment, uid: str, *splits: Any) -> Any:
    return env.from_source(Splits(splits), by_time(), uid).uid(f"times of {uid}")


def events(env: StreamExecutionEnvironment) -> Any:
    made = env.from_source(Splits(SPLITS), by_time(), "events")
    return made.uid("times")


def write(stream: Any, uid: str) -> None:
    stream.sink_to(DiscardingSink()).uid(uid)


def base(env: StreamExecutionEnvironment, totals: type[Totals] = Totals) -> tuple[Any, Any]:
    read = events(env)
    made = read.key_by(key).process(totals()).uid("totals")
    write(made, "out")
    return read, made


def count_windows(stream: Any, window: Any, uid: str) -> Any:
    return stream.key_by(key).window(window).reduce(lambda a, b: (a[0], b[1], a[2] + b[2])).uid(uid)


def leaf(env: Any) -> None:
    _, totals = base(env)
    write(totals.map(lambda r: (r[0], r[2] * 10)).uid("tens"), "new")


def by_third(totals: Any) -> Any:
    """Sums of other keys, by windows: their records come from several keys, which have no order."""
    window = TumblingEventTimeWindows.of(Time.milliseconds(700))
    windows = totals.key_by(lambda r: r[2] % 3).window(window)
    return windows.reduce(lambda a, b: ("", 0, a[2] + b[2])).uid("by third")


def behind(env: Any) -> None:
    _, totals = base(env)
    write(by_third(totals).map(lambda r: r[2]).uid("sums"), "new")


def beside(env: Any) -> None:
    read, _ = base(env)
    write(count_windows(read, TumblingEventTimeWindows.of(Time.milliseconds(700)), "w"), "new")


def sessions(env: Any) -> None:
    read, _ = base(env)
    gap = EventTimeSessionWindows.with_gap(Time.milliseconds(450))
    write(count_windows(read, gap, "sessions"), "new")


def between_both(env: Any) -> None:
    read = events(env)
    sums = read.key_by(key).reduce(lambda a, b: (a[0], b[1], a[2] + b[2])).uid("sums")
    write(sums.key_by(key).process(Totals()).uid("totals"), "out")


def changed(env: Any) -> None:
    base(env, TwiceAsMuch)


def changed_and_kept(env: Any) -> None:
    _, totals = base(env, TwiceAsMuch)
    write(by_third(totals).map(lambda r: r[2]).uid("sums"), "new")


def connected(env: Any) -> None:
    _, totals = base(env)
    rules = source(env, "rules", RULES)
    both = totals.connect(rules).key_by(key, key).process(Ruled()).uid("ruled")
    write(both, "new")


def broadcast(env: Any) -> None:
    read, _ = base(env)
    rules = source(env, "rules", RULES).broadcast(NUMBERS)
    write(read.key_by(key).connect(rules).process(Counted()).uid("counted"), "new")


def side(env: Any) -> None:
    _, totals = base(env)
    large = totals.get_side_output(LARGE)
    write(large.key_by(key).process(Totals()).uid("of large"), "new")


def alone(env: Any) -> None:
    base(env)
    rules = source(env, "rules", RULES)
    write(rules.key_by(key).process(Totals()).uid("of rules"), "new")


PROGRAMS: dict[str, Callable[[Any], None]] = {
    "new leaf": leaf,
    "new behind state": behind,
    "new windows": beside,
    "new sessions": sessions,
    "new between": between_both,
    "changed function": changed,
    "changed, and new below": changed_and_kept,
    "new source, connected": connected,
    "new source, broadcast": broadcast,
    "new behind a side output": side,
}


def plan_of(build: Callable[[Any], Any], **settings: str) -> PhysicalPlan:
    env = environment({**STREAMING, **settings})
    build(env)
    return env.plan()


STOPS = ({("events-1", 0): (0, 20)}, {("events-1", 0): (0, 38)})
LIVE = Way(WayMode.STREAMING, epochs=(3, 7))
ACCIDENTS = replace(LIVE, restart_every=2, fail_every=3, points=1)


def require_same(done: Upgraded, wanted: tuple[Segment, Segment, Segment]) -> None:
    """Require the results, the state and the positions of a program that had always been there."""
    begun, middle, last = wanted
    for uid in last.sinks:
        assert difference(done.middle.sinks[uid], middle.sinks[uid]) is None, uid
        assert difference(done.last.sinks[uid], last.sinks[uid]) is None, uid
    if "new" in last.sinks:
        assert difference(done.before["new"], begun.sinks["new"]) is None
        assert last.sinks["new"]
    assert contents(done.middle.state) == contents(middle.state)
    assert contents(middle.state)
    assert done.middle.handed == middle.handed


@pytest.mark.parametrize(
    ("way", "stops"),
    [(LIVE, ()), (replace(LIVE, backend="lmdb"), ()), (ACCIDENTS, STOPS)],
    ids=["hashmap", "lmdb", "rounds"],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_changed_program_goes_on_as_if_it_had_always_been_there(
    name: str, way: Way, stops: tuple[Ranges, ...]
) -> None:
    schedule, new = way.schedule(), plan_of(PROGRAMS[name])
    done = upgrade(plan_of(base), new, FIRST, SECOND, schedule, stops=stops)
    wanted = from_the_beginning(new, FIRST, SECOND, schedule, stops)
    require_same(done, wanted)
    assert all(wanted[0].sinks.values())


@pytest.mark.parametrize("stops", [(), STOPS], ids=["at once", "rounds"])
@pytest.mark.parametrize("name", ["new behind state", "changed function", "new sessions"])
def test_the_law_fails_if_the_positions_differ(name: str, stops: tuple[Ranges, ...]) -> None:
    schedule = LIVE.schedule()
    new = plan_of(PROGRAMS[name])
    done = upgrade(plan_of(base), new, FIRST, SECOND, schedule, read_less=2, stops=stops)
    _, middle, last = from_the_beginning(new, FIRST, SECOND, schedule, stops)
    differs = [
        uid
        for uid in last.sinks
        if difference(done.middle.sinks[uid], middle.sinks[uid]) is not None
        or difference(done.last.sinks[uid], last.sinks[uid]) is not None
    ]
    assert differs


def test_a_program_that_has_not_changed_reads_nothing() -> None:
    done = upgrade(plan_of(base), plan_of(base), FIRST, SECOND, LIVE.schedule())
    assert done.bootstrap.graph is None
    assert {each.change for _, each in done.bootstrap.evolution.parts} == {PartStatus.KEPT}


def test_a_pipeline_of_new_sources_begins_by_itself() -> None:
    env = environment(STREAMING)
    alone(env)
    _, savepoint = stand_at(plan_of(base), FIRST, LIVE.schedule())
    bootstrap = Bootstrap.of(env.plan(), savepoint, "v1")
    assert bootstrap.graph is None
    assert bootstrap.operators == {"of rules", "times of rules"}


def with_rules(env: Any) -> tuple[Any, Any]:
    """Totals beside rules."""
    _, totals = base(env)
    rules = source(env, "rules", RULES)
    both = totals.connect(rules).key_by(key, key).process(Ruled()).uid("kept")
    write(both, "beside")
    return totals, rules


def ruled(env: Any) -> None:
    totals, rules = with_rules(env)
    write(totals.connect(rules).key_by(key, key).process(Ruled()).uid("ruled"), "new")


def united(env: Any) -> None:
    """Windows that the watermark of the rules holds."""
    totals, rules = with_rules(env)
    write(sums_of(totals.union(rules).map(lambda r: (r[0], 0, r[2])).uid("untimed")), "new")


@pytest.mark.parametrize("build", [ruled, united])
@pytest.mark.parametrize("stops", [(), STOPS], ids=["at once", "rounds"])
def test_a_source_that_starts_empty_has_no_records_before_the_savepoint(
    build: Callable[[Any], None], stops: tuple[Ranges, ...]
) -> None:
    """The program from the beginning, over the input that lacks them."""
    first = FIRST | {("rules-1", 0): (0, 3)}
    second = SECOND | {("rules-1", 0): (3, 4)}
    lacks = {("rules-1", 0): (3, 3)}
    new = plan_of(build, **{"execution.evolution.start-empty": "times of rules"})
    schedule = LIVE.schedule()
    done = upgrade(
        plan_of(with_rules),
        new,
        first,
        second,
        schedule,
        stops=[{**at, ("rules-1", 0): (0, 2)} for at in stops],
    )
    wanted = from_the_beginning(
        new, first | lacks, second, schedule, [{**at, **lacks} for at in stops]
    )
    assert difference(done.before["new"], wanted[0].sinks["new"]) is None
    for made, right in zip((done.middle, done.last), wanted[1:], strict=True):
        assert difference(made.sinks["new"], right.sinks["new"]) is None
    states = [
        contents([blob for blob in of.state if operator_of(blob) in {"ruled", "sums"}])
        for of in (done.middle, wanted[1])
    ]
    assert states[0] == states[1] != {}


HALVES = (EVENTS[::2], EVENTS[1::2])
SLOW_FIRST = {("events-1", 0): (0, 11), ("events-1", 1): (0, 37)}
SLOW_SECOND = {("events-1", 0): (11, 30), ("events-1", 1): (37, 45)}
HALF_STOPS = (
    {("events-1", 0): (0, 6), ("events-1", 1): (0, 14)},
    {("events-1", 0): (0, 6), ("events-1", 1): (0, 30)},
)
NO_FIRST = {("events-1", 0): (0, 0), ("events-1", 1): (0, 37)}
NO_SECOND = {("events-1", 0): (0, 19), ("events-1", 1): (37, 45)}


def sums_of(stream: Any) -> Any:
    """Sums of a key in each 700 ms, in any order of records."""
    window = TumblingEventTimeWindows.of(Time.milliseconds(700))
    windows = stream.key_by(key).window(window)
    return windows.reduce(lambda a, b: (a[0], 0, a[2] + b[2])).uid("sums").map(str).uid("texts")


def sums_beside(env: Any) -> None:
    read, _ = base(env)
    write(sums_of(read.map(lambda r: (r[0], 0, r[2])).uid("untimed")), "new")


def sums_behind(env: Any) -> None:
    """Its input is what timers of changed state emit, which no order of records changes."""
    _, totals = base(env, TwiceAsMuch)
    late = totals.filter(lambda r: r[2] < 0).uid("of timers")
    write(sums_of(late.map(lambda r: (r[0], 0, r[2])).uid("untimed")), "new")


@pytest.mark.parametrize("build", [sums_beside, sums_behind])
@pytest.mark.parametrize("stops", [(), HALF_STOPS], ids=["at once", "rounds"])
@pytest.mark.parametrize(
    ("first", "second"), [(SLOW_FIRST, SLOW_SECOND), (NO_FIRST, NO_SECOND)], ids=["slow", "none"]
)
def test_several_splits_have_the_watermark_of_a_live_run(
    monkeypatch: pytest.MonkeyPatch,
    build: Callable[[Any], None],
    first: Ranges,
    second: Ranges,
    stops: tuple[Ranges, ...],
) -> None:
    """The first split is far behind the other one, or has no record yet."""
    monkeypatch.setattr(f"{__name__}.SPLITS", HALVES)
    schedule = LIVE.schedule()
    new = plan_of(build)
    stops = tuple({key: (0, min(at, first[key][1])) for key, (_, at) in s.items()} for s in stops)
    done = upgrade(plan_of(base), new, first, second, schedule, stops=stops)
    wanted = from_the_beginning(new, first, second, schedule, stops)
    require_same(done, wanted)
    assert wanted[1].sinks["new"] or first is NO_FIRST


FROM_NOW = {"execution.evolution.new-sinks": "now"}


@pytest.mark.parametrize("name", ["new leaf", "new behind state", "new windows"])
def test_a_new_sink_may_begin_now_with_the_state_of_the_history(name: str) -> None:
    schedule = LIVE.schedule()
    new = plan_of(PROGRAMS[name], **FROM_NOW)
    done = upgrade(plan_of(base), new, FIRST, SECOND, schedule)
    _, middle, last = from_the_beginning(new, FIRST, SECOND, schedule)
    assert difference(done.middle.sinks["new"], middle.sinks["new"]) is None
    assert difference(done.last.sinks["new"], last.sinks["new"]) is None
    assert contents(done.middle.state) == contents(middle.state)
    assert done.middle.handed == middle.handed


def test_what_a_new_sink_that_begins_now_has_below_it_decides_whether_history_is_read() -> None:
    def kept(env: Any) -> None:
        base(env)[1].sink_to(FileSink.text("new")).uid("new")

    def counted(env: Any) -> None:
        made = count_windows(base(env)[0], TumblingEventTimeWindows.of(Time.seconds(1)), "windows")
        made.sink_to(FileSink.text("new")).uid("new")

    _, savepoint = stand_at(plan_of(base), FIRST, LIVE.schedule())
    graphs = [
        Bootstrap.of(plan_of(build, **settings), savepoint, "v1").graph
        for build in (kept, counted)
        for settings in ({}, FROM_NOW)
    ]
    sinks = [graph and type(graph.of_kind(SINK)[0].sink) for graph in graphs]
    assert sinks == [FileSink, None, FileSink, DiscardingSink]


def test_splits_of_which_some_have_ended_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SPLITS", HALVES)
    at = {("events-1", 0): (0, 60), ("events-1", 1): (0, 25)}
    _, savepoint = stand_at(plan_of(base), at, LIVE.schedule())
    (refused,) = Bootstrap.of(plan_of(leaf), savepoint, "v1").refusals(savepoint)
    assert refused == "  source times: 1 of its 2 splits have ended, and it has watermarks"


def test_a_new_sink_has_the_same_name_in_the_program_and_in_what_reads_the_history() -> None:
    def quiet(env: Any) -> None:
        _, totals = base(env)
        write(totals.map(str).uid("texts"), "quiet pages")

    new = plan_of(quiet)
    _, savepoint = stand_at(plan_of(base), FIRST, LIVE.schedule())
    bootstrap = Bootstrap.of(new, savepoint, "v1")
    (sink,) = bootstrap.planned().sinks
    assert sink.uid == new.sinks[1].uid == "quiet%20pages"
    assert [each.uid for each in bootstrap.evolution.sinks] == ["out", "quiet pages"]

"""The alert function against a definition that knows no timers, and the rolling totals.

The first finds answers that depend on the lag of the watermark or on the order of arrival. The
last runs the whole program in process, in every mode, and finds what only the engine can break.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from examples.demo import job
from examples.demo.job import SILENCE_MS, SilentAircraft
from penstock.common import Configuration, Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.testing import Schedule, run_in_process


def silent_aircraft() -> Any:
    return SilentAircraft()


class Runtime:
    """One key's state and timers: as little of a runtime as the function needs."""

    def __init__(self):
        self.state = None
        self.timers = set()
        self.watermark = -(2**63)
        self.function = silent_aircraft()
        self.function.open(self)
        self.alerts: Counter[Any] = Counter()

    def get_state(self, descriptor):
        return self

    def value(self):
        return self.state

    def update(self, value):
        self.state = value

    def timer_service(self):
        return self

    def register_event_time_timer(self, timestamp):
        self.timers.add(timestamp)

    def get_current_key(self):
        return "N1"

    def depart(self, dep_ms):
        assert self.function.process_element(Row(dep_ms=dep_ms), self) is None

    def advance(self, watermark):
        self.watermark = max(self.watermark, watermark)
        while due := [t for t in self.timers if t <= self.watermark]:
            self.timers.remove(min(due))
            for tail, last, at in self.function.on_timer(min(due), self) or ():
                self.alerts[tail, last, at] += 1


def silent(departures, watermark):
    """Every departure after which none followed within SILENCE, once."""
    return Counter(
        {
            ("N1", d, d + SILENCE_MS): 1
            for d in set(departures)
            if d + SILENCE_MS <= watermark
            and not any(d < other <= d + SILENCE_MS for other in departures)
        }
    )


UNIT = SILENCE_MS // 4  # so that gaps of exactly SILENCE are common
ARRIVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(-2, 2)), min_size=1, max_size=25)


@given(arrivals=ARRIVALS, lags=st.lists(st.integers(0, 12), min_size=1), end=st.booleans())
def test_alerts_depend_neither_on_the_lag_nor_on_the_order_of_arrival(arrivals, lags, end):
    # The second number disturbs the order by up to two units; a watermark never overtakes it.
    departures = [at * UNIT for at, _ in sorted(arrivals, key=sum)]
    runtime = Runtime()
    for index, dep_ms in enumerate(departures):
        runtime.depart(dep_ms)
        known = max(departures[: index + 1]) - 4 * UNIT - 1
        runtime.advance(known - lags[index % len(lags)] * UNIT)
    final = 2**63 - 1 if end else max(departures) - 4 * UNIT - 1
    runtime.advance(final)
    assert runtime.alerts == silent(departures, final)


def test_a_departure_after_exactly_the_time_of_silence_prevents_the_alert():
    runtime = Runtime()
    for dep_ms in (0, SILENCE_MS, 2 * SILENCE_MS + 1):
        runtime.depart(dep_ms)
    runtime.advance(2 * SILENCE_MS)
    assert runtime.alerts == {("N1", SILENCE_MS, 2 * SILENCE_MS): 1}


def test_state_is_gone_when_nothing_is_pending():
    runtime = Runtime()
    runtime.depart(0)
    runtime.advance(SILENCE_MS)
    assert runtime.state is None


def departure(dep_ms, delay, tailnum="N1", origin="EWR"):
    return Row(
        dep_ms=dep_ms, carrier="UA", origin=origin, dest="IAH", tailnum=tailnum,
        dep_delay=delay, arr_delay=delay, distance=1400, cancelled=delay is None,
    )  # fmt: skip


def test_cancelled_flights_count_as_flights_and_have_no_delay():
    flights = [departure(0, delay) for delay in (20, None, -4, 15)]
    assert list(reduce(job.add_aircraft, map(job.of_aircraft, flights))) == ["N1", 4, 3, 31, 31 / 3]
    assert list(reduce(job.add_route, map(job.of_route, flights))) == ["UA", "EWR", 4, 3, 1, 31]


def test_mean_delay_is_null_before_the_first_departure():
    cancelled = job.of_aircraft(departure(0, None))
    assert job.add_aircraft(cancelled, cancelled).mean_delay is None
    assert job.add_aircraft(cancelled, job.of_aircraft(departure(0, 5))).mean_delay == 5.0


FLIGHTS = st.lists(
    st.builds(
        departure,
        st.integers(0, 12).map(lambda at: at * UNIT),
        st.none() | st.integers(-10, 60),
        st.sampled_from(["N1", "N2", None]),
        st.sampled_from(["EWR", "JFK"]),
    ),
    max_size=12,
)
MODES: dict[str, dict[str, object]] = {
    "BATCH": {"execution.runtime-mode": "BATCH"},
    "STREAMING": {},
    "mixed": {"execution.checkpointing.interval-during-backlog": 0},
}


def answers(mode, history, live, schedule):
    env = StreamExecutionEnvironment(
        Configuration.from_dict({"parallelism.default": 2, **MODES[mode]})
    )
    parts = [CollectionSource.of(part, job.DEPARTURE) for part in (history, live)]
    job.build(env, HybridSource.builder(parts[0]).add_source(parts[1]).build(), Path("out"))
    aircraft, alerts, routes = run_in_process(env, schedule).records
    last = {}
    for row in sorted([*aircraft, *routes], key=lambda row: row.flights):
        last[row[0], row[1] if "origin" in row else None] = list(row)
    return last, Counter(map(tuple, alerts))


@given(history=FLIGHTS, live=FLIGHTS, cuts=st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(max_examples=20)
def test_every_mode_gives_the_same_answer(history, live, cuts):
    history, live = (sorted(part, key=lambda row: row.dep_ms) for part in (history, live))
    live = [row for row in live if not history or row.dep_ms >= history[-1].dep_ms]
    schedule = Schedule(batch_sizes=tuple(cuts))
    found = {mode: answers(mode, history, live, schedule) for mode in MODES}
    assert found["BATCH"] == found["STREAMING"] == found["mixed"]

    flights = [*history, *live]
    expected: Counter[Any] = Counter()
    for tail in {row.tailnum for row in flights}:
        times = [r.dep_ms for r in flights if r.tailnum == tail and not r.cancelled]
        expected.update((tail, *alert[1:]) for alert in silent(times, 2**63 - 1))
    assert found["mixed"][1] == expected

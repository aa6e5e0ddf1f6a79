"""Means of late sensors per ten minutes, with corrections, and a list of readings that are too late.

python -m examples.sensors

The watermark is one minute behind, a window waits five more, and later readings go to a side output. The job moves the
watermark with each record.
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from examples.results import Result, run
from penstock.common import Row, Time, Types, Watermark, WatermarkGenerator, WatermarkStrategy
from penstock.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

MINUTE = 60_000
BEHIND, LATENESS, LENGTH = MINUTE, 5 * MINUTE, 10 * MINUTE
READING = Types.ROW_NAMED(
    ["sensor", "at", "celsius"], [Types.STRING(), Types.LONG(), Types.DOUBLE()]
)
MEAN = Types.ROW_NAMED(
    ["window", "sensor", "from_minute", "readings", "mean"],
    [Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE()],
)
LATE: OutputTag[Row] = OutputTag("too late", READING)


class OneBehind(WatermarkGenerator):
    """Says after each record that nothing older than a minute before the newest follows."""

    def __init__(self) -> None:
        self.newest = BEHIND

    def on_event(self, event: Row, event_timestamp: int, output: Any) -> None:
        self.newest = max(self.newest, event_timestamp)
        output.emit_watermark(Watermark(self.newest - BEHIND))

    def on_periodic_emit(self, output: Any) -> None:
        pass


class Mean(ProcessWindowFunction[Row, Row, str, TimeWindow]):
    """Makes a row of a window; a late reading makes it again."""

    def process(self, key: str, context: Any, elements: Iterable[Row]) -> Iterator[Row]:
        celsius = sorted(reading.celsius for reading in elements)
        begin = context.window().start // MINUTE
        mean = round(sum(celsius) / len(celsius), 2)
        yield Row(
            window=f"{key}@{begin}", sensor=key, from_minute=begin, readings=len(celsius), mean=mean
        )


def made_readings(count: int = 60, seed: int = 8) -> list[Row]:
    """Return readings of three sensors in order of arrival; one in five was held back for up to twenty minutes."""
    draw = Random(seed)
    arrivals = []
    for number in range(count):
        at = number * MINUTE // 2
        arrival = at + (draw.randrange(20 * MINUTE) if draw.random() < 0.2 else 0)
        celsius = round(draw.uniform(18, 22), 1)
        arrivals.append((arrival, Row(sensor=f"s{draw.randrange(3)}", at=at, celsius=celsius)))
    return [reading for _, reading in sorted(arrivals, key=lambda each: each[0])]


def build(env: StreamExecutionEnvironment, count: int = 60) -> dict[str, Result]:
    strategy = WatermarkStrategy.for_generator(OneBehind)
    strategy = strategy.with_timestamp_assigner(lambda reading, _: reading.at)
    source = CollectionSource.of(made_readings(count), READING)
    sensors = env.from_source(source, strategy, "readings").uid("readings")
    windows = sensors.key_by(lambda reading: reading.sensor).window(
        TumblingEventTimeWindows.of(Time.milliseconds(LENGTH))
    )
    windows = windows.allowed_lateness(LATENESS).side_output_late_data(LATE)
    means = windows.process(Mean(), MEAN).uid("means")
    return {
        "means": Result(means, key="window"),
        "too late": Result(means.get_side_output(LATE)),
    }


if __name__ == "__main__":
    run(build, "means per ten minutes, and readings that came too late")

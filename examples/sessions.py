"""Visits of a shop: the clicks of a user up to a pause of half an hour, and the sum of payments.

python -m examples.sessions
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from examples.results import Result, run
from penstock.common import Duration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.datastream.window import EventTimeSessionWindows, TimeWindow

MINUTE = 60_000
GAP = 30 * MINUTE
CLICK = Types.ROW_NAMED(
    ["user", "at", "page", "paid"], [Types.STRING(), Types.LONG(), Types.STRING(), Types.LONG()]
)
VISIT = Types.ROW_NAMED(
    ["user", "from_minute", "minutes", "clicks", "paid"],
    [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG()],
)


class Visit(ProcessWindowFunction[Row, Row, str, TimeWindow]):
    """Makes a row of the clicks of a visit."""

    def process(self, key: str, context: Any, elements: Iterable[Row]) -> Iterator[Row]:
        clicks = list(elements)
        window = context.window()
        yield Row(
            user=key,
            from_minute=window.start // MINUTE,
            minutes=(window.end - GAP - window.start) // MINUTE,
            clicks=len(clicks),
            paid=sum(click.paid for click in clicks),
        )


def made_clicks(count: int = 30, seed: int = 3) -> list[Row]:
    """Return clicks of a day, in order of time; one in eight is an order."""
    draw = Random(seed)
    times = sorted(draw.randrange(12 * 60) * MINUTE for _ in range(count))
    return [
        Row(
            user=draw.choice(["ann", "bob", "joe"]),
            at=at,
            page=draw.choice(["/", "/tea", "/cup"]),
            paid=draw.choice([0] * 7 + [draw.randrange(5, 50)]),
        )
        for at in times
    ]


def build(env: StreamExecutionEnvironment, count: int = 30) -> dict[str, Result]:
    clicks = made_clicks(count)
    parts = HybridSource.builder(CollectionSource.of(clicks[: count // 2], CLICK))
    source = parts.add_source(CollectionSource.of(clicks[count // 2 :], CLICK)).build()
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))
    by_time = by_time.with_timestamp_assigner(lambda click, _: click.at)
    users = (
        env.from_source(source, by_time, "clicks").uid("clicks").key_by(lambda click: click.user)
    )
    visits = users.window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP))).process(
        Visit(), VISIT
    )
    return {"visits": Result(visits.uid("visits"))}


if __name__ == "__main__":
    run(build, "visits of a shop")

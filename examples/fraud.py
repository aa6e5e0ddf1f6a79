"""Alerts for a small payment and a large one within a minute, by state and a timer.

python -m examples.fraud
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from examples.results import Result, run
from penstock.common import Duration, Row, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.datastream.state import ValueStateDescriptor

MINUTE = 60_000
SMALL, LARGE = 1, 500
PAYMENT = Types.ROW_NAMED(["card", "at", "amount"], [Types.STRING(), Types.LONG(), Types.LONG()])
ALERT = Types.ROW_NAMED(
    ["card", "minute", "small", "large"], [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()]
)


class SmallThenLarge(KeyedProcessFunction[str, Row, Row]):
    """Remembers a small payment for a minute, and tells of a large one that comes before it is over."""

    def open(self, runtime_context: Any) -> None:
        self.small = runtime_context.get_state(ValueStateDescriptor("small", Types.LONG()))
        self.until = runtime_context.get_state(ValueStateDescriptor("until", Types.LONG()))

    def process_element(self, value: Row, ctx: Any) -> Iterator[Row]:
        until = self.until.value()
        if until is not None and value.at < until and value.amount >= LARGE:
            yield Row(
                card=value.card,
                minute=value.at // MINUTE,
                small=self.small.value(),
                large=value.amount,
            )
        if until is not None:
            ctx.timer_service().delete_event_time_timer(until)
            self.forget()
        if value.amount <= SMALL:
            self.small.update(value.amount)
            self.until.update(value.at + MINUTE)
            ctx.timer_service().register_event_time_timer(value.at + MINUTE)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.forget()  # so a card that is silent keeps no state

    def forget(self) -> None:
        self.small.clear()
        self.until.clear()


def made_payments(count: int = 600, seed: int = 1) -> list[Row]:
    """Return payments of five cards, in order of time."""
    draw = Random(seed)
    times = sorted(draw.randrange(60 * MINUTE) for _ in range(count))
    amounts = [SMALL, 5, 20, 80, LARGE, 900]
    return [
        Row(
            card=f"card-{draw.randrange(5)}",
            at=at,
            amount=draw.choices(amounts, (4, 6, 9, 6, 2, 2))[0],
        )
        for at in times
    ]


def build(env: StreamExecutionEnvironment, count: int = 600) -> dict[str, Result]:
    payments = made_payments(count)
    history, live = payments[: count * 3 // 4], payments[count * 3 // 4 :]
    parts = HybridSource.builder(CollectionSource.of(history, PAYMENT))
    source = parts.add_source(CollectionSource.of(live, PAYMENT)).build()
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    by_time = by_time.with_timestamp_assigner(lambda payment, _: payment.at)
    cards = env.from_source(source, by_time, "payments").uid("payments").key_by(lambda p: p.card)
    return {"alerts": Result(cards.process(SmallThenLarge(), ALERT).uid("small-then-large"))}


if __name__ == "__main__":
    run(build, "small payments that large ones follow")

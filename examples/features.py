"""Was a payment unusual for its card? A training set from history, and a table of features that stays fresh.

    penstock run examples/features.py              makes payments in feature-data
    python examples/features.py --help

A feature is what a card spent in an hour. A payment is joined with the newest hour that was over when it was made,
so no row of the training set knows its own future. The same program reads history as a batch, then what comes live.
"""

import argparse
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    col,
)
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, Sink
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

HOUR, DAY = 3_600_000, 86_400_000
PAYMENT = Types.ROW_NAMED(
    ["card", "at", "amount", "is_fraud"],
    [Types.STRING(), Types.LONG(), Types.LONG(), Types.BOOLEAN()],
)
FEATURES = Types.ROW_NAMED(
    ["card", "known_at", "payments", "spent"],
    [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()],
)


class Spending(AggregateFunction[Row, tuple[int, int], tuple[int, int]]):
    """Counts payments and adds their amounts."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Row, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value.amount

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator


class OfHour(ProcessWindowFunction[tuple[int, int], Row, str, TimeWindow]):
    """Makes the row of an hour, which is known when the hour is over."""

    def process(self, key: str, context: Any, elements: Iterable[tuple[int, int]]) -> Iterator[Row]:
        ((payments, spent),) = elements
        yield Row(card=key, known_at=context.window().end, payments=payments, spent=spent)


def build(payments: DataStream[Row], training: Sink, online: Sink) -> None:
    """Connect a stream of payments with two sinks: of training rows, and of the newest features per card."""
    hours = payments.key_by(lambda payment: payment.card).window(
        TumblingEventTimeWindows.of(Time.hours(1))
    )
    features = hours.aggregate(Spending(), OfHour(), output_type=FEATURES).uid("features")
    joined = payments.as_of_join(features, by=col.card, tolerance=Time.days(1))
    rows = joined.with_columns(payments=col.payments.fill_null(0), spent=col.spent.fill_null(0))
    rows.sink_to(training).name("training").uid("training")
    newest = features.key_by(col.card).last_value(by=col.known_at).uid("newest")
    newest.upsert_to(online, key=lambda row: row.card).name("online").uid("online")


def made_payments(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return payments of three days as dictionaries, in order of time; one in twenty is a fraud."""
    draw = random.Random(seed)
    times = sorted(draw.randrange(3 * DAY) for _ in range(count))
    cards = [f"card-{number}" for number in range(8)]
    return [
        {
            "card": draw.choice(cards),
            "at": at,
            "amount": round(draw.lognormvariate(3, 1)),
            "is_fraud": draw.random() < 0.05,
        }
        for at in times
    ]


def write(folder: Path, payments: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "payments.json").write_text("\n".join(map(json.dumps, payments)) + "\n")


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the rows that a sink wrote, oldest file first."""
    files = folder.glob("*.json")
    texts = [path.read_text() for path in sorted(files, key=lambda path: path.stat().st_mtime_ns)]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def show(title: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{title}")
    for row in rows:
        print("  " + "  ".join(f"{name}={value}" for name, value in row.items()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Builds a training set and keeps a table of features."
    )
    parser.add_argument("directory", nargs="?", default="feature-data", type=Path)
    parser.add_argument(
        "--payments", type=int, default=2000, help="how many to make, if none are there"
    )
    parser.add_argument("--follow", action="store_true", help="go on with new files, until Ctrl-C")
    options = parser.parse_args()
    data = options.directory.resolve()
    if not (data / "history").exists():
        made = made_payments(options.payments)
        cut = len(made) * 2 // 3
        write(data / "history", made[:cut])
        write(data / "live", made[cut:])
    settings = Configuration().set("execution.checkpointing.dir", f"{data}/checkpoint")
    settings.set("execution.checkpointing.interval-during-backlog", 0)
    env = StreamExecutionEnvironment(settings)
    history = FileSource.json(data / "history", PAYMENT)
    live = FileSource.json(data / "live", PAYMENT)
    source = HybridSource.builder(history).add_source(
        live.monitor_continuously() if options.follow else live
    )
    time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))
    time = time.with_timestamp_assigner(lambda payment, _: payment.at)
    payments = env.from_source(source.build(), time, "payments").uid("payments")
    build(payments, FileSink.json(data / "training"), FileSink.json(data / "online"))
    env.execute("features")
    show(
        "training set (last rows)", sorted(lines(data / "training"), key=lambda row: row["at"])[-5:]
    )
    table: dict[str, dict[str, Any]] = {}
    for row in lines(data / "online"):  # a later row of a card replaces the former one
        table[row["card"]] = max(
            row, table.get(row["card"], row), key=lambda each: each["known_at"]
        )
    show("online table", [table[card] for card in sorted(table)])


if __name__ == "__main__":
    main()

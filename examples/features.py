"""Was a payment unusual for its card? A training set from history, and tables of features that stay fresh.

    penstock run examples/features.py              makes payments in feature-data
    python examples/features.py --help

Features are what a card spent in the last 24 hours, taken every hour, and in its last burst: payments without half an hour
between them. A payment is joined with the newest of both that were known when it was made, so no row of the training set
knows its own future. The same program reads history as a batch, then what comes live.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment, col
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, Sink
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows

HOUR, DAY = 3_600_000, 86_400_000
GAP = Time.minutes(30)
PAYMENT = Types.ROW_NAMED(
    ["card", "at", "amount", "is_fraud"],
    [Types.STRING(), Types.LONG(), Types.LONG(), Types.BOOLEAN()],
)


def build(payments: DataStream[Row], training: Sink, days: Sink, bursts: Sink) -> None:
    """Connect a stream of payments with sinks: of training rows, and of the newest features per card."""
    payment_count, spent = col.count(), col.amount.sum()
    cards = payments.key_by(col.card)
    by_hour = cards.window(SlidingEventTimeWindows.of(Time.hours(24), Time.hours(1)))
    of_day = by_hour.aggregate(col.window_end, payments=payment_count, spent=spent).uid("days")
    day = of_day.select(
        col.card,
        hour=col.window_end.epoch_millis(),
        day_payments=col.payments,
        day_spent=col.spent,
    )
    by_burst = cards.window(EventTimeSessionWindows.with_gap(GAP))
    of_burst = by_burst.aggregate(col.window_end, payments=payment_count, spent=spent).uid("bursts")
    burst = of_burst.select(
        col.card,
        burst_until=col.window_end.epoch_millis(),
        burst_payments=col.payments,
        burst_spent=col.spent,
    )
    known = payments.as_of_join(day, by=col.card, tolerance=Time.days(1)).uid("with-days")
    known = known.as_of_join(burst, by=col.card).uid("with-bursts")
    rows = known.with_columns(
        day_payments=col.day_payments.fill_null(0), day_spent=col.day_spent.fill_null(0)
    )
    rows.sink_to(training).name("training").uid("training")
    newest = day.key_by(col.card).last_value(by=col.hour).uid("newest-days")
    newest.upsert_to(days, key=lambda row: row.card).name("days").uid("days-table")
    newest = burst.key_by(col.card).last_value(by=col.burst_until).uid("newest-bursts")
    newest.upsert_to(bursts, key=lambda row: row.card).name("bursts").uid("bursts-table")


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
    settings.set("execution.history", "batch")
    env = StreamExecutionEnvironment(settings)
    history = FileSource.json(data / "history", PAYMENT)
    live = FileSource.json(data / "live", PAYMENT)
    source = HybridSource.builder(history).add_source(
        live.monitor_continuously() if options.follow else live
    )
    time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))
    time = time.with_timestamp_assigner(col.at)
    payments = env.from_source(source.build(), time, "payments").uid("payments")
    build(payments, *(FileSink.json(data / name) for name in ("training", "days", "bursts")))
    env.execute("features")
    show(
        "training set (last rows)", sorted(lines(data / "training"), key=lambda row: row["at"])[-5:]
    )
    for name, column in (("days", "hour"), ("bursts", "burst_until")):
        table: dict[str, dict[str, Any]] = {}
        for row in lines(data / name):  # a later row of a card replaces the former one
            table[row["card"]] = max(
                row, table.get(row["card"], row), key=lambda each: each[column]
            )
        show(f"table of {name}", [table[card] for card in sorted(table)])


if __name__ == "__main__":
    main()

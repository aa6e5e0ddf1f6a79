"""The demo's findings as plain text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from examples.demo.answers import Answers, Record
from examples.demo.check import Expected
from examples.demo.compare import GOAL, Measured, ratio
from examples.demo.data import DAY_MS
from examples.demo.job import SILENCE_MS
from examples.demo.story import Story

TOP = 5


def story_text(story: Story) -> str:
    """Return how fast each phase was, and the switch between them."""
    reached = story.switch_watermark_ms
    rows = [
        ("", "records", "seconds", "records/s"),
        _speed_row("history", story.history_records, story.history_seconds),
        _speed_row("live", story.live_records, story.live_seconds),
    ]
    until = f" until {_time(reached)}" if reached is not None else ""
    return (
        f"{columns(rows)}\n"
        f"  the switch took {story.switch_seconds:.1f} s, from the last record of history to the start of the "
        f"live run; history is complete{until}\n"
        f"  live seconds are those of the {story.live_batches} micro-batches, "
        "without the time spent waiting for files"
    )


def answers_text(answers: Answers, expected: Expected, switch_ms: int | None) -> str:
    """Return the aircraft, alerts and carriers in short.

    Args:
        answers: What the job wrote.
        expected: Tells how far alerts are decided.
        switch_ms: Watermark that was handed from history to live, None if none was.
    """
    alerts = answers.alerts.total()
    tails = len(answers.last["aircraft"])
    across = 0 if switch_ms is None else _across(answers, switch_ms)
    rows: list[Sequence[object]] = [("carrier", "flights", "departures", "delayed", "mean delay")]
    for carrier, (flights, departures, delayed, minutes) in top_carriers(answers)[:TOP]:
        share, mean = delayed / max(departures, 1), minutes / max(departures, 1)
        rows.append((carrier, f"{flights:,}", f"{departures:,}", f"{share:.1%}", f"{mean:.1f} min"))
    return (
        f"  {alerts:,} alerts: one of {tails:,} aircraft did not depart for more than "
        f"{SILENCE_MS // DAY_MS} days, decided until {_time(expected.watermark_ms)}\n"
        f"  {across:,} of them were timers of history that fired live\n"
        f"  busiest carriers\n{columns(rows)}"
    )


def top_carriers(answers: Answers) -> list[tuple[str, tuple[int, int, int, int]]]:
    """Return (carrier, (flights, departures, delayed, delay minutes)), most flights first."""
    by_carrier: Mapping[str, list[Record]] = defaultdict(list)
    for row in answers.last["routes"].values():
        by_carrier[row[0]].append(row[2:])
    totals = [
        (carrier, tuple(map(sum, zip(*rows, strict=True)))) for carrier, rows in by_carrier.items()
    ]
    return sorted(totals, key=lambda total: -total[1][0])  # type: ignore[arg-type]


def compare_text(measured: Sequence[Measured]) -> str:
    """Return the speed of each mode on history."""
    rows: list[Sequence[object]] = [("mode", "records", "seconds", "records/s", "whole job, s")]
    rows += [
        (
            one.mode,
            f"{one.records:,}",
            f"{one.seconds:.1f}",
            f"{one.records_per_second:,.0f}",
            f"{one.job_seconds:.1f}",
        )
        for one in measured
    ]
    reached = ratio(list(measured))
    verdict = "reached" if reached >= GOAL else "not reached"
    return (
        f"{columns(rows)}\n"
        f"  mixed : STREAMING = {reached:.2f} on history, one run each "
        f"(goal {GOAL:g}: {verdict})"
    )


def columns(rows: Sequence[Sequence[object]]) -> str:
    """Return `rows` below each other, the first column to the left, the others to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    )


def _across(answers: Answers, switch_ms: int) -> int:
    return sum(1 for _, last_ms, alert_ms in answers.alerts if last_ms <= switch_ms < alert_ms)


def _speed_row(phase: str, records: int, seconds: float) -> tuple[str, str, str, str]:
    speed = f"{records / seconds:,.0f}" if seconds else "-"
    return phase, f"{records:,}", f"{seconds:.1f}", speed


def _time(epoch_ms: int) -> str:
    return f"{datetime.fromtimestamp(epoch_ms / 1000, UTC):%Y-%m-%d %H:%M}"

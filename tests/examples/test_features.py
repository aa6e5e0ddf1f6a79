"""The training set has no future in it and is the same in every mode; the online table has the newest hour of each card."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.features import DAY, HOUR, PAYMENT, build, lines, made_payments
from penstock.common import Row
from penstock.datastream.connectors import CollectionSource, DiscardingSink, HybridSource
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, STREAMING, by_time, environment

PROGRAM = Path(__file__).parents[2] / "examples" / "features.py"
PAYMENTS = made_payments(120, seed=7)


def hours(payments: list[dict[str, Any]]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return (card, end of an hour) to the number of payments and their sum."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for each in payments:
        end = each["at"] // HOUR * HOUR + HOUR
        count, spent = found.get((each["card"], end), (0, 0))
        found[each["card"], end] = count + 1, spent + each["amount"]
    return found


def training_set(payments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each payment with the newest hour of its card that was over, if it is of the last day."""
    found, of_hours = [], hours(payments)
    for each in payments:
        # An hour has the timestamp of its last millisecond.
        ends = [
            end
            for card, end in of_hours
            if card == each["card"] and end - 1 <= each["at"] <= end - 1 + DAY
        ]
        known_at = max(ends, default=None)
        count, spent = (0, 0) if known_at is None else of_hours[each["card"], known_at]
        found.append({**each, "known_at": known_at, "payments": count, "spent": spent})
    return found


def newest() -> dict[str, dict[str, Any]]:
    found = {}
    for (card, end), (count, spent) in sorted(hours(PAYMENTS).items(), key=lambda item: item[0][1]):
        found[card] = {"card": card, "known_at": end, "payments": count, "spent": spent}
    return found


@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
@pytest.mark.parametrize("fails", [None, 2])
def test_the_program_gives_what_plain_python_gives(mode: dict[str, str], fails: int | None) -> None:
    env = environment(mode)
    rows = [Row(**each) for each in PAYMENTS]
    parts = [CollectionSource(tuple(part), PAYMENT) for part in (rows[:80], rows[80:])]
    source = HybridSource.builder(parts[0]).add_source(parts[1]).build()
    build(env.from_source(source, by_time(DAY * 3), "payments"), DiscardingSink(), DiscardingSink())
    found = run_in_process(env, Schedule(batch_sizes=(30,), fail_every=fails))
    trained = [row.as_dict() for row in found.of("training")]
    assert sorted(trained, key=str) == sorted(training_set(PAYMENTS), key=str)
    assert {row.card: row.as_dict() for row in found.of("online")} == newest()


def test_help_says_what_it_does() -> None:
    said = subprocess.run(
        [sys.executable, PROGRAM, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "training set" in said
    assert "--follow" in said


@pytest.mark.spark
def test_it_runs_on_spark(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path / "data"), "--payments", "200"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert run.returncode == 0, run.stderr[-2000:]
    assert "online table" in run.stdout
    trained = lines(tmp_path / "data" / "training")
    assert sorted(trained, key=_in_order) == sorted(training_set(made_payments(200)), key=_in_order)


def _in_order(row: dict[str, Any]) -> Any:
    return row["at"], row["card"], row["amount"]

"""The training set has no future in it and is the same in every mode; tables have the newest features of each card.

The oracle is pandas: features by `groupby`, and `merge_asof` with the time at which they were known.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from examples.features import DAY, GAP, HOUR, PAYMENT, build, lines, made_payments
from penstock.common import Row
from penstock.datastream.connectors import CollectionSource, DiscardingSink, HybridSource
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, STREAMING, by_time, environment

PROGRAM = Path(__file__).parents[2] / "examples" / "features.py"
PAYMENTS = made_payments(120, seed=7)
GAP_MS = GAP.to_milliseconds()


def days_of(payments: pd.DataFrame) -> pd.DataFrame:
    """Return what each card spent in the 24 hours before each full hour, if that is anything."""
    hours = [payments.assign(hour=payments["at"] // HOUR * HOUR + n * HOUR) for n in range(1, 25)]
    return _summed(pd.concat(hours), "hour", "day")


def bursts_of(payments: pd.DataFrame) -> pd.DataFrame:
    """Return what each card spent without half an hour in between."""
    ordered = payments.sort_values(["card", "at"])
    is_new = ordered.groupby("card")["at"].diff().fillna(DAY) > GAP_MS
    ordered["burst"] = is_new.cumsum()
    ends = ordered.groupby("burst")["at"].transform("max") + GAP_MS
    return _summed(ordered.assign(burst_until=ends), "burst_until", "burst")


def _summed(rows: pd.DataFrame, end: str, name: str) -> pd.DataFrame:
    groups = rows.groupby(["card", end], as_index=False)
    counts = {f"{name}_payments": ("amount", "size"), f"{name}_spent": ("amount", "sum")}
    return groups.agg(**counts).sort_values(end)


def training_set(payments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each payment with the newest features of its card that were known."""
    found = frame = pd.DataFrame(payments).sort_values("at", kind="stable")
    for features, end, tolerance in (
        (days_of(frame), "hour", DAY),
        (bursts_of(frame), "burst_until", None),
    ):
        # Features have the timestamp of the last millisecond of their window.
        right = features.assign(known=features[end] - 1)
        found = pd.merge_asof(
            found, right, left_on="at", right_on="known", by="card", tolerance=tolerance
        ).drop(columns="known")
    found[["day_payments", "day_spent"]] = found[["day_payments", "day_spent"]].fillna(0)
    whole = found.astype(
        {name: "Int64" for name in found.columns if name.startswith(("day_", "burst_", "hour"))}
    ).astype(object)
    records: list[dict[str, Any]] = whole.where(whole.notna(), None).to_dict("records")
    return records


def newest(features: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["card"]: row for row in features.to_dict("records")}


@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
@pytest.mark.parametrize("fails", [None, 2])
def test_the_program_gives_what_pandas_gives(mode: dict[str, str], fails: int | None) -> None:
    env = environment(mode)
    rows = [Row(**each) for each in PAYMENTS]
    parts = [CollectionSource(tuple(part), PAYMENT) for part in (rows[:80], rows[80:])]
    source = HybridSource.builder(parts[0]).add_source(parts[1]).build()
    payments = env.from_source(source, by_time(DAY * 3), "payments")
    build(payments, DiscardingSink(), DiscardingSink(), DiscardingSink())
    found = run_in_process(env, Schedule(batch_sizes=(30,), fail_every=fails))
    trained = [row.as_dict() for row in found.of("training")]
    assert sorted(trained, key=str) == sorted(training_set(PAYMENTS), key=str)
    frame = pd.DataFrame(PAYMENTS)
    assert {row.card: row.as_dict() for row in found.of("days")} == newest(days_of(frame))
    assert {row.card: row.as_dict() for row in found.of("bursts")} == newest(bursts_of(frame))


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
    assert "table of bursts" in run.stdout
    trained = lines(tmp_path / "data" / "training")
    assert sorted(trained, key=_in_order) == sorted(training_set(made_payments(200)), key=_in_order)


def _in_order(row: dict[str, Any]) -> Any:
    return row["at"], row["card"], row["amount"]

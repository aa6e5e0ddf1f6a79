"""The features of `docs/guides/feature-store.md` are those of a plain loop, in every mode, and decay to zero."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from penstock.common import Row
from penstock.datastream.connectors import CollectionSource, DiscardingSink, HybridSource
from penstock.testing import Schedule, last_per_key, run_in_process
from tests.docs.pairs import DOCS
from tests.runtime.jobs import BATCH, MIXED, STREAMING, environment

HOUR = 3_600_000
PAGE = (DOCS / "guides" / "feature-store.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def features() -> Iterator[ModuleType]:
    """Return `features.py` of the page as a module that can be found, because its class is pickled."""
    (program,) = re.findall(
        r'^```python title="features.py"\n(.*?)^```', PAGE, re.DOTALL | re.MULTILINE
    )
    module = ModuleType("features_of_the_page")
    sys.modules[module.__name__] = module
    exec(compile(program, "features.py", "exec"), vars(module))  # noqa: S102 - our own documentation
    yield module
    del sys.modules[module.__name__]


def events(seed: int) -> list[tuple[str, int, int]]:
    """Return events of five days in order of time; some users are quiet for more than a day."""
    draw = random.Random(seed)  # noqa: S311 - made events
    times = sorted(draw.randrange(5 * 24 * HOUR) for _ in range(25))
    return [(draw.choice("abcdef"), at, draw.randrange(9)) for at in times]


def expected(records: list[tuple[str, int, int]]) -> list[tuple[str, int, int, int]]:
    """Return the features of every hour that has some, and of the first hour without."""
    rows = []
    for user in {user for user, _, _ in records}:
        before = 0
        for until in range(HOUR, 7 * 24 * HOUR, HOUR):
            amounts = [a for u, at, a in records if u == user and until - 24 * HOUR <= at < until]
            if amounts or before:
                rows.append((user, until, len(amounts), sum(amounts)))
            before = len(amounts)
    return sorted(rows)


@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
@pytest.mark.parametrize("seed", [1, 2])
def test_features_are_those_of_a_loop(features: Any, mode: dict[str, str], seed: int) -> None:
    records = events(seed)
    rows = [
        Row(user=user, at=datetime.fromtimestamp(at / 1000, UTC), amount=amount)
        for user, at, amount in records
    ]
    env = environment(mode)
    parts = [CollectionSource(tuple(part), features.EVENT) for part in (rows[:15], rows[15:])]
    source = HybridSource.builder(parts[0]).add_source(parts[1]).build()
    stream = features.features_of(env.from_source(source, features.BY_TIME, "events"))
    stream.sink_to(DiscardingSink()).name("all")
    stream.upsert_to(DiscardingSink(), key=lambda row: row.user).name("table")
    results = run_in_process(env, Schedule(batch_sizes=(4,), fail_every=3))
    assert sorted(tuple(row) for row in results.of("all")) == expected(records)
    table = last_per_key(results.of("table"), lambda row: row.user)
    assert {(row.orders, row.spent) for row in table} == {(0, 0)}

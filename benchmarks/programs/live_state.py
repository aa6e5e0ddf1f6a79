"""`live-state`: keyed read-modify-write on a state that already holds every key.

Micro-batches of 250,000 records over K keys, what Spark users do today with
`transformWithState`. Per record the systems read the running (count, sum) of its key, change it,
write it back and put out (key, count, sum); SQL aggregates and puts out one row per changed key.

1. fill: every key once, so the state has its full size before anything is measured;
2. warm-up, then measured rounds; outputs are dropped as cheaply as each system can;
3. check: every key once more. The rows that come out hold the whole state, so one digest of them
   tells whether any record of any micro-batch was lost, doubled or summed wrongly. The right
   digest comes from NumPy over the same records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from benchmarks.inputs.feed import Feed
from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.systems.file_stream import Rhythm, StreamSpecification
from benchmarks.systems.flink_peers import flink_live_state
from benchmarks.systems.launch import module, peer_script
from benchmarks.systems.watcher import WATCHED
from penstock.config.options import STATE_BACKEND

MICRO_BATCH = 250_000
WRITE_FEED = "benchmarks.inputs.feed_files:write_feed"
"""A name, because every command imports this module and few need Parquet."""

_JOB = "benchmarks.systems.live_state_job"
_COLUMNS_JOB = "benchmarks.systems.live_state_columns_job"


@dataclass(frozen=True, slots=True)
class LiveStateWorkload(Workload):
    """The feed of one case."""

    case: Case
    feed: Feed

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `StreamSpecification`."""
        return StreamSpecification(
            feed=self.feed.to_json(),
            work=str(work),
            parallelism=self.case.parallelism,
            rhythm=rhythm(self.case, system).to_json(),
            options=dict(system.options),
            settings={} if system.is_peer else dict(self.case.settings),
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Compute the state of every key."""
        return self.feed.outputs_of_check(rhythm(self.case, system).batches_after(rounds))


def prepare(case: Case, directory: Path) -> LiveStateWorkload:
    """Write the feed of a case."""
    feed = Feed(
        root=str(directory),
        keys=case.keys,
        micro_batch=_micro_batch(case),
        live_batches=max(rhythm(case, s).batches_after(case.rounds) for s in PROGRAM.systems),
        files=case.parallelism,
    )
    write: Callable[[Feed], None] = resolve_name(WRITE_FEED)
    write(feed)
    return LiveStateWorkload(case, feed)


def rhythm(case: Case, system: BenchSystem) -> Rhythm:
    """Return how many micro-batches a system gets, and when."""
    batches = -(-case.records // _micro_batch(case))
    if system.is_slow:
        return Rhythm(warm_up_batches=1, round_batches=min(batches, case.options["slow-batches"]))
    return Rhythm(warm_up_batches=case.options["warm-up-batches"], round_batches=batches)


def _micro_batch(case: Case) -> int:
    return min(case.records, case.options["micro-batch"])


def _ours(backend: str, *, is_watched: bool = False) -> BenchSystem:
    return BenchSystem(
        name=f"penstock {backend}{' watched' if is_watched else ''}",
        command=module(_JOB),
        is_peer=False,
        by_default=not is_watched,
        options={STATE_BACKEND.key: backend} | (dict(WATCHED) if is_watched else {}),
        note="With its page open, and its metrics asked for every five seconds."
        if is_watched
        else "KeyedProcessFunction with a ValueState, one call and one output row per record; "
        "records are Rows read from Parquet.",
    )


def _expressions(backend: str, *, by_default: bool) -> BenchSystem:
    return BenchSystem(
        name=f"penstock {backend} expressions",
        command=module(_COLUMNS_JOB),
        is_peer=False,
        by_default=by_default,
        options={STATE_BACKEND.key: backend},
        note="key_by(col.key).aggregate(count, sum): no function of Python, one output row per changed key, as sql.",
    )


_SAME = "Same files, cores, driver memory and micro-batches; state in RocksDB with change log."

PROGRAM = BenchProgram(
    name="live-state",
    summary="live keyed read-modify-write: micro-batches of 250,000 records over K keys",
    systems=(
        _ours("hashmap"),
        _ours("lmdb"),
        _expressions("hashmap", by_default=STATE_BACKEND.default == "hashmap"),
        _expressions("lmdb", by_default=STATE_BACKEND.default == "lmdb"),
        _ours(STATE_BACKEND.default, is_watched=True),
        BenchSystem(
            name="tws-row",
            command=peer_script("live_state_tws_row.py"),
            is_peer=True,
            max_keys=1_000_000,
            is_slow=True,
            note=f"PySpark transformWithState with Rows: one call per key and micro-batch, which "
            f"reads and writes the state once and puts out one row. {_SAME}",
        ),
        BenchSystem(
            name="tws-pandas",
            command=peer_script("live_state_tws_pandas.py"),
            is_peer=True,
            by_default=False,
            max_keys=1_000_000,
            is_slow=True,
            note=f"transformWithStateInPandas: one DataFrame per key. {_SAME}",
        ),
        BenchSystem(
            name="sql",
            command=peer_script("live_state_sql.py"),
            is_peer=True,
            options={"state": "rocksdb"},
            note=f"groupBy(key).agg(count, sum) in update mode: no Python at all, records of a key "
            f"are combined before the shuffle, one output row per changed key. {_SAME}",
        ),
        BenchSystem(
            name="sql-memory",
            command=peer_script("live_state_sql.py"),
            is_peer=True,
            by_default=False,
            options={"state": "memory"},
            note="As sql, with Spark's default state store: the state in the JVM's heap.",
        ),
        flink_live_state(),
    ),
    reference=f"penstock {STATE_BACKEND.default}",
    records=8 * MICRO_BATCH,
    keys=200_000,
    options={"micro-batch": MICRO_BATCH, "warm-up-batches": 4, "slow-batches": 2},
    prepare=prepare,
)

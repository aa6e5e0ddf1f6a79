"""Ways to run one program over one input, none of which may change its answer, and a seeded generator of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from itertools import chain
from typing import Any

from penstock.config.option import ConfigOption
from penstock.config.options import (
    AUTO_UIDS,
    ENABLE_CODED_ROWDATA,
    HISTORY,
    IGNORE_KEY_KINDS,
    INTERVAL_DURING_BACKLOG,
    MAX_PARALLELISM,
    OBJECT_REUSE,
    OPERATOR_CHAINING,
    PARALLELISM,
    RUNTIME_MODE,
    SORTED_INPUTS_MEMORY,
    STATE_COMPRESSION,
)
from penstock.config.run_options import (
    BATCH_COMBINE,
    BATCH_EXPRESSIONS,
    BATCH_QUERIES,
    DROP_UNUSED_TIMESTAMPS,
)
from penstock.state.log.change_log import MIN_COMPACT_BYTES
from penstock.testing.schedule import Schedule

ALL_RECORDS = 1 << 30
"""Size of an epoch that has all records that are left."""

_FEW = 60
"""Epochs and frames of one record are for inputs of up to as many records: each takes about a millisecond."""


DRIVER, WORKER = "driver", "worker"
"""Processes that a way on Spark may kill."""


class WayMode(Enum):
    """The runs of a way."""

    BATCH = "BATCH"
    """One batch run."""

    STREAMING = "STREAMING"
    """One live run."""

    MIXED = "MIXED"
    """A batch run over history, whose state a live run takes over."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a program. No field may change the answer.

    Attributes:
        mode: The runs.
        parallelism: Subtasks of every operator that sets no number itself.
        cut: Share of the records of every source that are history; None is a source without history.
        order: Seed of the order in which the splits of a source are read; 0 is the given order.
        turns: Order in which sources are read: 0 is all together, 1 one after the other, -1 the last one first.
        epochs: Records of each split in micro-batch 0, 1, …; after the last number the first one follows.
        restart_every: Number of micro-batches after which all workers are lost.
        fail_every: Number of micro-batches after which a first attempt fails.
        points: Seed of free points, at which single workers are lost and attempts fail at any step; None is without.
        workers: Workers that take turns at each subtask.
        backend: `state.backend.type`.
        object_reuse: `pipeline.object-reuse`.
        chaining: `pipeline.operator-chaining.enabled`.
        combine: `execution.batch.combine`.
        columns: Rows enter as Arrow columns, which Arrow computes on where the plan allows it; otherwise as
            Python records.
        frame_records: Records per frame.
        tasks: Tasks per level of a batch run; None is the parallelism.
        memory: `execution.sorted-inputs.memory`, beyond which records of a batch run are spilled.
        key_groups: `pipeline.max-parallelism`.
        compact_bytes: Size of the changes in a log of state at which it is compacted.
        coded: `table.exec.enable-coded-rowdata`.
        compression: `state.compression`.
        drop_timestamps: `pipeline.drop-unused-timestamps`.
        only_live: Number of sources, the first ones, that have no history.
        on_spark: The run is a job on Spark, in a process of its own on `local[2]`. It takes the
            mode, the parallelism, the cut, the order, the backend, and all that is a setting.
        kill: On Spark: `driver` or `worker`, which gets SIGKILL once. None kills nothing.
        on_duckdb: The answer is that of DuckDB, of a query of SQL; any other program runs as if it were not set.

    Example:
        >>> way = Way(WayMode.STREAMING, parallelism=2, restart_every=1)
        >>> way.describe()
        'STREAMING, parallelism 2, restart every 1'
        >>> way
        Way(WayMode.STREAMING, parallelism=2, restart_every=1)
    """

    mode: WayMode = WayMode.BATCH
    parallelism: int = 1
    cut: float | None = None
    order: int = 0
    turns: int = 0
    epochs: tuple[int, ...] = (ALL_RECORDS,)
    restart_every: int | None = None
    fail_every: int | None = None
    points: int | None = None
    workers: int = 1
    backend: str = "hashmap"
    object_reuse: bool = False
    chaining: bool = True
    combine: bool = True
    columns: bool = False
    frame_records: int = 4096
    tasks: int | None = None
    memory: str | None = None
    key_groups: int | None = None
    compact_bytes: int = MIN_COMPACT_BYTES
    coded: bool = False
    compression: str = "none"
    drop_timestamps: bool = True
    only_live: int = 0
    on_spark: bool = False
    kill: str | None = None
    on_duckdb: bool = False

    def changes(self) -> dict[str, Any]:
        """Return the fields that differ from those of a batch run with one subtask.

        Example:
            >>> Way(parallelism=7).changes()
            {'parallelism': 7}
        """
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }

    def __repr__(self) -> str:
        """Return the call that makes the way, without fields that have their default."""
        given = self.changes()
        mode = given.pop("mode", None)
        shown = [] if mode is None else [str(mode)]
        return f"Way({', '.join(shown + [f'{name}={value!r}' for name, value in given.items()])})"

    def describe(self) -> str:
        """Return the way as a phrase for people.

        Example:
            >>> Way(backend="lmdb", combine=False).describe()
            'BATCH, lmdb, no combining'
        """
        given = self.changes()
        given.pop("mode", None)
        return ", ".join([self.mode.value, *(_phrase(name, of) for name, of in given.items())])

    def settings(self) -> dict[str, str]:
        """Return the settings of a job that runs this way.

        Example:
            >>> Way(parallelism=7).settings()["parallelism.default"]
            '7'
        """
        is_mixed = self.mode is WayMode.MIXED
        # Spark SQL computes nothing in this process.
        own = {} if self.on_spark else {BATCH_EXPRESSIONS.key: "false", BATCH_QUERIES.key: "false"}
        return own | {
            RUNTIME_MODE.key: "BATCH" if self.mode is WayMode.BATCH else "STREAMING",
            HISTORY.key: "batch" if is_mixed else "stream",
            INTERVAL_DURING_BACKLOG.key: "0" if is_mixed else "1d",
            AUTO_UIDS.key: "true",
            # No code changes between the runs of a way, and digests of functions take a third of the time.
            IGNORE_KEY_KINDS.key: "true",
            **{
                option.key: str(value).lower()
                for name, option in _OPTIONS.items()
                if (value := getattr(self, name)) is not None
            },
        }

    def in_process(self) -> Way:
        """Return the way in this process that is nearest to one on Spark: for a kill all workers are lost.

        Example:
            >>> Way(WayMode.STREAMING, on_spark=True, kill="driver").in_process()
            Way(WayMode.STREAMING, epochs=(1,), restart_every=1)
        """
        if not self.on_spark:
            return self
        here = replace(self, on_spark=False, kill=None)
        is_hit = self.kill is not None and self.mode is not WayMode.BATCH
        return replace(here, epochs=(1,), restart_every=1) if is_hit else here

    def schedule(self) -> Schedule:
        """Return the micro-batches and failures of a run in this process.

        Example:
            >>> Way(WayMode.STREAMING, backend="lmdb").schedule().backend
            'lmdb'
        """
        return Schedule(
            tasks=self.tasks,
            batch_sizes=self.epochs,
            frame_records=self.frame_records,
            restart_every=self.restart_every,
            workers=self.workers,
            fail_every=self.fail_every,
            compact_bytes=self.compact_bytes,
            backend=self.backend,
            points=self.points,
            turns=self.turns,
        )


_OPTIONS: Mapping[str, ConfigOption[Any]] = {
    "parallelism": PARALLELISM,
    "object_reuse": OBJECT_REUSE,
    "chaining": OPERATOR_CHAINING,
    "combine": BATCH_COMBINE,
    "memory": SORTED_INPUTS_MEMORY,
    "key_groups": MAX_PARALLELISM,
    "coded": ENABLE_CODED_ROWDATA,
    "compression": STATE_COMPRESSION,
    "drop_timestamps": DROP_UNUSED_TIMESTAMPS,
}
"""Field to the option that it sets; None leaves that of the program."""

_PHRASES: Mapping[str, str] = {
    "cut": "history {0:.0%} of the records",
    "order": "splits in order {0}",
    "turns": "sources in turn {0}",
    "restart_every": "restart every {0}",
    "fail_every": "failure every {0}",
    "points": "free points {0}",
    "backend": "{0}",
    "frame_records": "frames of {0}",
    "tasks": "{0} tasks in batch",
    "memory": "{0} of memory",
    "key_groups": "{0} key groups",
    "compact_bytes": "compaction at {0} bytes",
    "compression": "{0}",
    "only_live": "{0} sources without history",
    "kill": "{0} killed",
}
_SWITCHES: Mapping[str, tuple[str, str]] = {
    "object_reuse": ("object reuse", ""),
    "chaining": ("", "no chaining"),
    "combine": ("", "no combining"),
    "columns": ("Arrow columns", "records"),
    "coded": ("coded rows in state", ""),
    "drop_timestamps": ("", "all timestamps kept"),
    "on_spark": ("on Spark", ""),
    "on_duckdb": ("DuckDB", ""),
}


def _phrase(name: str, value: Any) -> str:
    if name == "epochs":
        return "epochs of " + ", ".join("all" if n == ALL_RECORDS else str(n) for n in value)
    if name in _SWITCHES:
        return _SWITCHES[name][0 if value else 1]
    return _PHRASES.get(name, f"{name} {{0}}").format(value)


SPARK_WAYS = (
    Way(parallelism=2, on_spark=True, kill=WORKER),
    Way(WayMode.STREAMING, parallelism=2, on_spark=True, kill=DRIVER),
    Way(WayMode.MIXED, parallelism=2, cut=0.5, on_spark=True),
)
"""Ways on Spark: one of each mode, of which two are hit by an accident."""


_OF_ALL: dict[str, tuple[Any, ...]] = {
    "parallelism": (2, 7),
    "order": (1, 2),
    "object_reuse": (True,),
    "chaining": (False,),
    "columns": (True,),
}
_OF_BATCH: dict[str, tuple[Any, ...]] = {"combine": (False,), "cut": (0.5,), "points": (1,)}
_OF_LIVE: dict[str, tuple[Any, ...]] = {
    "restart_every": (1, 3),
    "fail_every": (1, 2),
    "points": (1, 2),
    "backend": ("lmdb",),
    "workers": (2,),
    "cut": (0.0, 0.3, 0.7, 1.0),
}
_OF_HISTORY: dict[str, tuple[Any, ...]] = {"tasks": (1, 3), "memory": ("1b", "1kb")}
_OF_STATE: dict[str, tuple[Any, ...]] = {
    "compact_bytes": (1, 300),
    "coded": (True,),
    "compression": ("lz4", "zstd"),
}
_AT_LAST: dict[str, tuple[Any, ...]] = {"drop_timestamps": (False,), "key_groups": (512,)}
_TABLES: Mapping[WayMode, tuple[dict[str, tuple[Any, ...]], ...]] = {
    WayMode.BATCH: (_OF_BATCH, _OF_HISTORY, _AT_LAST),
    WayMode.STREAMING: (_OF_LIVE, _OF_STATE, _AT_LAST),
    WayMode.MIXED: (_OF_LIVE, _OF_HISTORY, _OF_STATE, {"only_live": (1,)}, _AT_LAST),
}
"""Mode to tables of field to values other than its default; a short check tries the first ones."""

_OF_SEVERAL = frozenset({"restart_every", "fail_every", "points", "workers", "compact_bytes"})
"""Fields that need several micro-batches."""

_SEEDS = frozenset({"order", "points"})
"""Fields of which any number is a value."""


def ways(seed: int, records: int) -> Iterator[Way]:
    """Yield ways for ever: first each kind alone, then mixtures.

    Example:
        >>> from itertools import islice
        >>> list(islice(ways(0, 10), 3))
        [Way(), Way(WayMode.STREAMING), Way(WayMode.MIXED, cut=0.5)]
    """
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    yield from _alone(records)
    while True:
        yield _mixture(rng, records)


def values_of(mode: WayMode, records: int) -> dict[str, tuple[Any, ...]]:
    """Return field to its values other than the default, of the fields that matter in a mode.

    Example:
        >>> values_of(WayMode.BATCH, 10)["combine"]
        (False,)
    """
    frames = {"frame_records": (1, 5) if records <= _FEW else (records // 7,)}
    epochs = {} if mode is WayMode.BATCH else {"epochs": _divisions(records)}
    first, *others = _TABLES[mode]
    return dict(chain.from_iterable(map(dict.items, (_OF_ALL, frames, first, epochs, *others))))


def _alone(records: int) -> Iterator[Way]:
    batch, live = Way(), Way(WayMode.STREAMING)
    mixed = Way(WayMode.MIXED, cut=0.5)
    yield from (batch, live, mixed)
    for base in (live, batch, mixed):
        for name, values in values_of(base.mode, records).items():
            for value in values:
                needs_epochs = base.mode is not WayMode.BATCH and name in _OF_SEVERAL
                changed: dict[str, Any] = (
                    {"epochs": _divisions(records)[-1]} if needs_epochs else {}
                )
                yield replace(base, **changed | {name: value})


def _divisions(records: int) -> tuple[tuple[int, ...], ...]:
    """Return divisions into micro-batches: one by one if there are few records, else the first ones."""
    share = max(1, records // 8)
    ones = (1,) if records <= _FEW else (1, 1, 1, 0, ALL_RECORDS)
    return ones, (share, 0, 2 * share)


def _mixture(rng: random.Random, records: int) -> Way:
    mode = rng.choice(tuple(WayMode))
    is_live = mode is not WayMode.BATCH
    drawn: dict[str, Any] = {}
    for name, values in values_of(mode, records).items():
        if name != "epochs" and rng.random() < 0.4:  # noqa: PLR2004 - some of the fields
            drawn[name] = rng.choice(values)
    if is_live and rng.random() < 0.8:  # noqa: PLR2004 - most have several micro-batches
        drawn["epochs"] = rng.choice((*_divisions(records), _random_division(rng, records)))
    if mode is WayMode.MIXED or "cut" in drawn:
        drawn["cut"] = rng.choice((0.0, 1.0, round(rng.random(), 2), round(rng.random(), 2)))
    for name in sorted(_SEEDS & drawn.keys()):
        drawn[name] = rng.randrange(1, 100)
    return Way(mode, **drawn)


def _random_division(rng: random.Random, records: int) -> tuple[int, ...]:
    """Return sizes of micro-batches, of which one has at least a sixth of the records."""
    sizes = [rng.randrange(0, max(2, records // 10)) for _ in range(rng.randrange(0, 3))]
    return (*sizes, max(1, records // rng.randrange(1, 7)))

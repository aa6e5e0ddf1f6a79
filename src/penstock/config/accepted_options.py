"""Flink's options without effect, and the enums of the checkpointing settings.

Programs may set them and read them back.

They never change results: they are about speed, memory, guarantees that are stronger here, and the place of processes. An option
that would change results is refused, or implemented.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from penstock.config.option import ANY_VALUE, ConfigOption, Limit, T, one_of
from penstock.config.parse import BOOLEAN, DURATION, INTEGER, STRING, Parser, parse_enum


class CheckpointingMode(Enum):
    """The guarantee that the program requests."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    """Accepted; the job is exactly once all the same."""


class ExternalizedCheckpointRetention(Enum):
    """Fate of the checkpoints of a cancelled job.

    Accepted: a directory that `execution.checkpointing.dir` names is always kept.
    """

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2


_ON, _OFF = True, False
_ZERO = timedelta(0)
_NOT_NEGATIVE: Limit[int] = Limit("must be 0 or more", lambda value: value >= 0)
_POSITIVE: Limit[int] = Limit("must be 1 or more", lambda value: value >= 1)


def _accepted(
    key: str,
    parse: Parser[T],
    default: T,
    instead: str,
    *fallback_keys: str,
    check: Limit[Any] = ANY_VALUE,
) -> ConfigOption[T]:
    """Declare an option without effect."""
    description = f"Accepted, without effect: {instead}"
    return ConfigOption(key, parse, default, description, check, fallback_keys)


BUFFER_TIMEOUT = _accepted(
    "execution.buffer-timeout.interval",
    DURATION,
    timedelta(milliseconds=100),
    "records move with their micro-batch.",
    "execution.buffer-timeout",
)
BUFFER_TIMEOUT_ENABLED = _accepted(
    "execution.buffer-timeout.enabled", BOOLEAN, _ON, "records move with their micro-batch."
)
CHECKPOINTING_MODE = _accepted(
    "execution.checkpointing.mode",
    parse_enum(CheckpointingMode),
    CheckpointingMode.EXACTLY_ONCE,
    "the guarantee is always exactly once.",
)
CHECKPOINT_TIMEOUT = _accepted(
    "execution.checkpointing.timeout",
    DURATION,
    timedelta(minutes=10),
    "a checkpoint is the end of a micro-batch.",
)
MIN_PAUSE = _accepted(
    "execution.checkpointing.min-pause",
    DURATION,
    _ZERO,
    "a checkpoint is the end of a micro-batch.",
)
MAX_CONCURRENT_CHECKPOINTS = _accepted(
    "execution.checkpointing.max-concurrent-checkpoints",
    INTEGER,
    1,
    "micro-batches follow each other.",
    check=_POSITIVE,
)
TOLERABLE_FAILED_CHECKPOINTS = _accepted(
    "execution.checkpointing.tolerable-failed-checkpoints",
    INTEGER,
    0,
    "a checkpoint that fails fails the job.",
    check=_NOT_NEGATIVE,
)
CHECKPOINT_RETENTION = _accepted(
    "execution.checkpointing.externalized-checkpoint-retention",
    parse_enum(ExternalizedCheckpointRetention),
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
    "a checkpoint directory that the program names is kept, a temporary one is not.",
)
UNALIGNED_CHECKPOINTS = _accepted(
    "execution.checkpointing.unaligned.enabled",
    BOOLEAN,
    _OFF,
    "no barriers travel between operators.",
    "execution.checkpointing.unaligned",
)
FORCED_UNALIGNED = _accepted(
    "execution.checkpointing.unaligned.forced",
    BOOLEAN,
    _OFF,
    "no barriers travel between operators.",
)
ALIGNED_TIMEOUT = _accepted(
    "execution.checkpointing.aligned-checkpoint-timeout",
    DURATION,
    _ZERO,
    "no barriers travel between operators.",
    "execution.checkpointing.alignment-timeout",
)
INCREMENTAL_CHECKPOINTS = _accepted(
    "execution.checkpointing.incremental",
    BOOLEAN,
    _OFF,
    "checkpoints of a live run always hold the changes only.",
    "state.backend.incremental",
)
SNAPSHOT_COMPRESSION = _accepted(
    "execution.checkpointing.snapshot-compression",
    BOOLEAN,
    _OFF,
    "Spark and Parquet compress what they write.",
)
CHECKPOINT_STORAGE = _accepted(
    "execution.checkpointing.storage",
    STRING,
    None,
    "checkpoints are always in `execution.checkpointing.dir`.",
    "state.checkpoint-storage",
    check=Limit(
        "must be jobmanager or filesystem",
        lambda value: value in (None, "jobmanager", "filesystem"),
    ),
)
CHANGELOG_ENABLED = _accepted(
    "state.changelog.enabled",
    BOOLEAN,
    None,
    "a live run always keeps a log of changes.",
    "state.backend.changelog.enabled",
)
CLOSURE_CLEANER = _accepted(
    "pipeline.closure-cleaner-level",
    Parser("level", str.upper),
    "RECURSIVE",
    "Python functions have nothing to clean.",
    check=one_of("NONE", "TOP_LEVEL", "RECURSIVE"),
)
FORCE_KRYO = _accepted("pipeline.force-kryo", BOOLEAN, _OFF, "there is no Kryo.")
FORCE_AVRO = _accepted("pipeline.force-avro", BOOLEAN, _OFF, "there is no Avro.")
GENERIC_TYPES = _accepted(
    "pipeline.generic-types", BOOLEAN, _ON, "records without a type are pickled."
)
CACHED_FILES = _accepted(
    "pipeline.cached-files", STRING, None, "`python.archives` brings files to the workers."
)
JARS = _accepted("pipeline.jars", STRING, None, "`spark.jars` brings them to Spark.")
CLASSPATHS = _accepted("pipeline.classpaths", STRING, None, "`spark.jars` brings them to Spark.")
CANCELLATION_INTERVAL = _accepted(
    "task.cancellation.interval", DURATION, timedelta(seconds=30), "Spark cancels its tasks."
)
CANCELLATION_TIMEOUT = _accepted(
    "task.cancellation.timeout", DURATION, timedelta(minutes=3), "Spark cancels its tasks."
)
ACCEPTED_OPTIONS: tuple[ConfigOption[Any], ...] = (
    BUFFER_TIMEOUT,
    BUFFER_TIMEOUT_ENABLED,
    CHECKPOINTING_MODE,
    CHECKPOINT_TIMEOUT,
    MIN_PAUSE,
    MAX_CONCURRENT_CHECKPOINTS,
    TOLERABLE_FAILED_CHECKPOINTS,
    CHECKPOINT_RETENTION,
    UNALIGNED_CHECKPOINTS,
    FORCED_UNALIGNED,
    ALIGNED_TIMEOUT,
    INCREMENTAL_CHECKPOINTS,
    SNAPSHOT_COMPRESSION,
    CHECKPOINT_STORAGE,
    CHANGELOG_ENABLED,
    CLOSURE_CLEANER,
    FORCE_KRYO,
    FORCE_AVRO,
    GENERIC_TYPES,
    CACHED_FILES,
    JARS,
    CLASSPATHS,
    CANCELLATION_INTERVAL,
    CANCELLATION_TIMEOUT,
)
"""The options of this module, in the order of the reference page."""

_NOTHING = "Accepted, without effect: "

ACCEPTED_PREFIXES: dict[str, str] = {
    "python.fn-execution.": f"{_NOTHING}`execution.frame.max-records` bounds what moves at once.",
    "python.execution-mode": f"{_NOTHING}functions run in Spark's worker processes.",
    "python.operator-chaining.": f"{_NOTHING}see `pipeline.operator-chaining.enabled`.",
    "python.state.": f"{_NOTHING}see `state.backend.type`.",
    "python.map-state.": f"{_NOTHING}see `state.backend.type`.",
    "python.client.executable": f"{_NOTHING}the program runs in the interpreter it runs in.",
    "python.pythonpath": f"{_NOTHING}use `python.files`.",
    "python.metric.": f"{_NOTHING}metrics are always on.",
    "python.profile.": f"{_NOTHING}Spark profiles its workers.",
    "python.systemenv.": f"{_NOTHING}Spark decides.",
    "python.logging.": f"{_NOTHING}functions use Python's `logging` as usual.",
    "state.backend.rocksdb.": f"{_NOTHING}there is no RocksDB of our own.",
    "taskmanager.": f"{_NOTHING}Spark has no task managers.",
    "jobmanager.": f"{_NOTHING}Spark has no job manager.",
    "rest.": f"{_NOTHING}there is no REST server.",
    "web.": f"{_NOTHING}there is no web server.",
    "historyserver.": f"{_NOTHING}there is no web server.",
    "akka.": f"{_NOTHING}Spark has its own remote calls.",
    "pekko.": f"{_NOTHING}Spark has its own remote calls.",
    "heartbeat.": f"{_NOTHING}Spark has its own heartbeats.",
    "high-availability": f"{_NOTHING}a job started again resumes from its directory.",
    "cluster.": f"{_NOTHING}Spark places its tasks.",
    "slot.": f"{_NOTHING}Spark has no slots.",
    "slotmanager.": f"{_NOTHING}Spark has no slots.",
    "resourcemanager.": f"{_NOTHING}Spark requests its executors.",
    "kubernetes.": f"{_NOTHING}use `spark.kubernetes.…`.",
    "yarn.": f"{_NOTHING}use `spark.yarn.…`.",
    "security.": f"{_NOTHING}use Spark's own settings.",
    "classloader.": f"{_NOTHING}there are no Java classes of the program.",
    "env.": f"{_NOTHING}use `spark.driver.…` and `spark.executor.…`.",
    "io.tmp.dirs": f"{_NOTHING}use `spark.local.dir`.",
    "blob.": f"{_NOTHING}Spark ships files.",
    "client.": f"{_NOTHING}the program is the client.",
    "deployment.": f"{_NOTHING}the program is the client.",
    "execution.attached": f"{_NOTHING}the program is the client.",
    "execution.shutdown-on-": f"{_NOTHING}the program is the client.",
    "execution.batch-shuffle-mode": f"{_NOTHING}Spark shuffles.",
    "execution.sorted-inputs.enabled": f"{_NOTHING}a batch run always sorts by key.",
    "fs.": f"{_NOTHING}credentials and the like: use `spark.hadoop.fs.…`.",
    "s3.": f"{_NOTHING}use `spark.hadoop.fs.s3a.…`.",
    "metrics.reporter": "Accepted. Reporters for Prometheus, for OpenTelemetry over HTTP and for the log work; for others the log "
    "names the option to set instead.",
    "metrics.scope.": f"{_NOTHING}metrics are named by the uid of their operator.",
    "pipeline.vertex-": f"{_NOTHING}plans have a form of their own.",
    "pipeline.watermark-alignment.": f"{_NOTHING}splits of a source are read side by side.",
    "state.checkpoints.num-retained": f"{_NOTHING}the last completed one counts.",
    "table.exec.mini-batch.": f"{_NOTHING}tables are Spark's.",
    "table.optimizer.": f"{_NOTHING}tables are Spark's.",
}
"""Prefix of Flink's keys that are accepted to a sentence about their effect."""


@dataclass(frozen=True, slots=True)
class OneMeaning:
    """A key of Flink's whose other values would change results or input, and are not implemented.

    Attributes:
        values: The values, in small letters, that mean what is done here.
        instead: Advice for other values.
    """

    values: tuple[str, ...]
    instead: str

    def allows(self, value: str) -> bool:
        """Return whether a value means what is done here."""
        return value.strip().lower() in self.values


_COPIED = OneMeaning(
    ("no_claim",), "The state of a savepoint is copied, and the savepoint stays: remove it."
)
_AFTER_END = OneMeaning(("true",), "Checkpoints go on when sources have ended: remove it.")
REFUSED_KEYS: dict[str, OneMeaning] = {
    "pipeline.time-characteristic": OneMeaning(
        ("eventtime",),
        "Strategies and windows of the program determine the time: remove it.",
    ),
    "fs.default-scheme": OneMeaning(
        ("file:///", "file://", "file:/"),
        "Write the scheme in the paths of the program: remove it.",
    ),
    "execution.state-recovery.claim-mode": _COPIED,
    "execution.savepoint-restore-mode": _COPIED,
    "execution.checkpointing.checkpoints-after-tasks-finish": _AFTER_END,
    "execution.checkpointing.checkpoints-after-tasks-finish.enabled": _AFTER_END,
    "table.sql-dialect": OneMeaning(("default",), "Write Flink's SQL: remove it."),
    "table.exec.legacy-cast-behaviour": OneMeaning(
        ("disabled",), "Use TRY_CAST where a value may not fit: remove it."
    ),
}
"""Flink's keys of which one value means what is done here; all other values are refused."""

IGNORED_PREFIXES = ("python.profile.", "security.")
"""Prefixes whose effect a user would expect: a job logs that it ignores such settings."""

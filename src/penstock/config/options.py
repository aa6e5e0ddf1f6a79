"""All options of Penstock. An option that Flink has too has Flink's key."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any

from penstock.config.accepted_options import ACCEPTED_OPTIONS, ACCEPTED_PREFIXES
from penstock.config.option import NOT_BLANK, ConfigOption, Limit, Rule, between, one_of
from penstock.config.parse import (
    BOOLEAN,
    DURATION,
    INTEGER,
    MEMORY,
    STRING,
    Parser,
    parse_enum,
    parse_list,
)
from penstock.config.reporter_options import REPORTER_OPTIONS, UI_OPTIONS
from penstock.config.run_options import (
    BACKLOG_OPTIONS,
    BATCH_OPTIONS,
    EXPONENTIAL_INITIAL,
    EXPONENTIAL_MAXIMUM,
    LIVE_OPTIONS,
    PYTHON_OPTIONS,
    RESTART_OPTIONS,
    TIME_OPTIONS,
)

# CodedRowData, rule 5.
ENABLE_CODED_ROWDATA: ConfigOption[bool] = ConfigOption(
    key="table.exec.enable-coded-rowdata",
    parse=BOOLEAN,
    default=False,
    description=(
        "Store values of declared row, tuple and map types as coded rows. Results are the same, "
        "and a job reads state of both forms."
    ),
)

STATE_COMPRESSION: ConfigOption[str] = ConfigOption(
    key="state.compression",
    parse=STRING,
    default="none",
    description="Compression of change logs and snapshots; a job reads every compression.",
    check=one_of("none", "lz4", "zstd"),
)

STATE_OPTIONS: tuple[ConfigOption[Any], ...] = (ENABLE_CODED_ROWDATA, STATE_COMPRESSION)


OBJECT_REUSE: ConfigOption[bool] = ConfigOption(
    key="pipeline.object-reuse",
    parse=BOOLEAN,
    default=False,
    description=(
        "Let operators of one task share records without copies; then no function may change a "
        "record that another one reads (FLIP-329)."
    ),
)

VERIFY_OBJECT_REUSE: ConfigOption[bool] = ConfigOption(
    key="pipeline.object-reuse.verify",
    parse=BOOLEAN,
    default=False,
    description="Check functions that promise not to use emitted values again: slow, for tests.",
)

REUSE_OPTIONS: tuple[ConfigOption[Any], ...] = (OBJECT_REUSE, VERIFY_OBJECT_REUSE)


LOGGING_FORMAT: ConfigOption[str] = ConfigOption(
    key="logging.format",
    parse=Parser("format", lambda text: text.strip().lower()),
    default="text",
    description=(
        "Log lines of the driver: `text` as the program configures `logging`, `json` as an object "
        "per line on stderr, with the event."
    ),
    check=one_of("text", "json"),
)

LOGGING_OPTIONS: tuple[ConfigOption[Any], ...] = (LOGGING_FORMAT,)
"""The options of this module, in the order of the reference page."""


STATE_TTL: ConfigOption[timedelta] = ConfigOption(
    key="table.exec.state.ttl",
    parse=DURATION,
    default=timedelta(0),
    description=(
        "Time after which a regular join forgets a row that did not change. 0 keeps rows without end."
    ),
    check=Limit("must not be negative", lambda value: value >= timedelta(0)),
)

JOIN_OPTIONS: tuple[ConfigOption[Any], ...] = (STATE_TTL,)


MISSING_COLUMNS: ConfigOption[str] = ConfigOption(
    key="source.files.missing-columns",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="warn",
    description=(
        "Reaction if no file of a source has a declared column: `warn` once, `error` or `ignore`. The"
        " check reads the first hundred files."
    ),
    check=one_of("warn", "error", "ignore"),
)

FILE_OPTIONS: tuple[ConfigOption[Any], ...] = (MISSING_COLUMNS,)
"""All of them."""


class RuntimeExecutionMode(Enum):
    """Decides when results become visible, never what the final results are."""

    STREAMING = 0
    """Records are processed as they arrive; bounded and unbounded sources are allowed."""

    BATCH = 1
    """Every source must end; only final results are emitted."""

    AUTOMATIC = 2
    """BATCH if every source is bounded, otherwise STREAMING."""


_BACKENDS = {
    "rocksdb": "lmdb",
    "forst": "lmdb",
    "jobmanager": "hashmap",
    "filesystem": "hashmap",
}

RUNTIME_MODE: ConfigOption[RuntimeExecutionMode] = ConfigOption(
    key="execution.runtime-mode",
    parse=parse_enum(RuntimeExecutionMode),
    default=RuntimeExecutionMode.STREAMING,
    description=(
        "Results appear while the input is read (STREAMING) or once, at its end (BATCH). "
        "AUTOMATIC is BATCH if every source is bounded."
    ),
)

PLAN_ONLY = "plan"
"""The target that runs no job."""

TARGET: ConfigOption[str] = ConfigOption(
    key="execution.target",
    parse=STRING,
    default="spark",
    description="`spark` runs a job, `plan` only shows its plan, without Spark.",
    check=one_of("spark", PLAN_ONLY),
)

PARALLELISM: ConfigOption[int | None] = ConfigOption(
    key="parallelism.default",
    parse=INTEGER,
    default=None,
    description=(
        "Number of subtasks of operators without their own; when unset, the cores of Spark."
    ),
    check=Limit("must be 1 or more", lambda value: value is None or value >= 1),
)

MAX_PARALLELISM: ConfigOption[int] = ConfigOption(
    key="pipeline.max-parallelism",
    parse=INTEGER,
    default=128,
    description="Number of key groups of keyed state; an upper bound of the parallelism.",
    check=between(1, 32_768),
)

JOB_NAME: ConfigOption[str] = ConfigOption(
    key="pipeline.name",
    parse=STRING,
    default="penstock-job",
    description="Name of the job.",
    check=NOT_BLANK,
)

CHECKPOINT_DIR: ConfigOption[str | None] = ConfigOption(
    key="execution.checkpointing.dir",
    parse=STRING,
    default=None,
    description=(
        "Directory or store (`s3://bucket/path`, `gs://`, `abfss://`) with the progress and state"
        " of the job, from which the same job resumes."
    ),
    check=NOT_BLANK,
    fallback_keys=("state.checkpoints.dir",),
)

CHECKPOINT_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="execution.checkpointing.interval",
    parse=DURATION,
    default=timedelta(0),
    description=(
        "Time between the starts of two micro-batches of a live run; 0 starts the next one at once."
    ),
)

INTERVAL_DURING_BACKLOG: ConfigOption[timedelta | None] = ConfigOption(
    key="execution.checkpointing.interval-during-backlog",
    parse=DURATION,
    default=None,
    description=(
        "Checkpoint interval while a source reads its history; 0 reads it as a batch run. When "
        "unset, `execution.checkpointing.interval`."
    ),
)

HISTORY: ConfigOption[str | None] = ConfigOption(
    key="execution.history",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default=None,
    description=(
        "Run that reads history before a job goes live: `batch` or `stream`, the live run. When "
        "unset, `execution.checkpointing.interval-during-backlog` decides."
    ),
    check=Limit("must be batch or stream", lambda how: how in (None, "batch", "stream")),
)

HISTORY_PARALLELISM: ConfigOption[int | None] = ConfigOption(
    key="execution.history.parallelism",
    parse=INTEGER,
    default=None,
    description=(
        "Tasks per level of the batch run that reads history; when unset, those of the program, "
        "else the cores."
    ),
    check=Limit("must be 1 or more", lambda value: value is None or value >= 1),
)


class EvolutionPolicy(Enum):
    """Decides about stored state whose program was another one."""

    ASK = 0
    """By the user at a terminal; elsewhere as REFUSE."""

    ALLOW = 1
    """The history is read again for new and changed operators."""

    KEEP = 2
    """Changed operators keep their state, and new ones start without."""

    REFUSE = 3
    """The start is an error that lists the differences."""


EVOLUTION: ConfigOption[EvolutionPolicy] = ConfigOption(
    key="execution.evolution",
    parse=parse_enum(EvolutionPolicy),
    default=EvolutionPolicy.ASK,
    description=(
        "Reaction to a program that differs from that of the stored state. ALLOW reads the "
        "history again for new and changed operators, from a savepoint and into a new directory. "
        "KEEP reads nothing again: changed operators keep their state, and new ones start "
        "without. REFUSE reports the differences. The default lets the user choose at a terminal, and is "
        "REFUSE elsewhere."
    ),
)

ADVANCE_TO: ConfigOption[str | None] = ConfigOption(
    key="execution.state-recovery.advance-to",
    parse=STRING,
    default=None,
    description=(
        "Savepoint of another job with the same sources: the job reads up to its positions "
        "without output, and begins there. `penstock handover` sets it."
    ),
)


class ShadowSinks(Enum):
    """Decides where the sinks of a job write that runs beside another one."""

    OFF = 0
    """To their own targets: the job is no shadow."""

    FILES = 1
    """To files and tables below the checkpoint directory."""

    DISCARD = 2
    """Nowhere: records are counted, and a digest of them is kept."""


SHADOW: ConfigOption[ShadowSinks] = ConfigOption(
    key="execution.shadow",
    parse=parse_enum(ShadowSinks),
    default=ShadowSinks.OFF,
    description=(
        "Output of a shadow of another job (`penstock shadow`): FILES is `outputs` in the "
        "checkpoint directory, DISCARD keeps a count and a digest of each sink."
    ),
)

EVOLUTION_JOB: ConfigOption[str | None] = ConfigOption(
    key="execution.evolution.from-job",
    parse=STRING,
    default=None,
    description=(
        "Checkpoint directory of the job whose state a changed program takes over; `penstock "
        "upgrade` sets it."
    ),
    check=NOT_BLANK,
)

EVOLUTION_REST: ConfigOption[timedelta] = ConfigOption(
    key="execution.evolution.short-round",
    parse=DURATION,
    default=timedelta(seconds=10),
    description=(
        "Length of a round after which an upgrade stops the running job; kept results pause for "
        "about as long."
    ),
)

EVOLUTION_SINKS: ConfigOption[str] = ConfigOption(
    key="execution.evolution.new-sinks",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="history",
    description=(
        "Results for a sink that a changed program has added: `history`, all from the beginning, "
        "or `now`, those behind the savepoint."
    ),
    check=one_of("history", "now"),
)

START_EMPTY: ConfigOption[str | None] = ConfigOption(
    key="execution.evolution.start-empty",
    parse=STRING,
    default=None,
    description=(
        "Uids of sources, separated by `;`, whose history new and changed operators do not read; their results lack it."
    ),
    check=NOT_BLANK,
)

HISTORY_TABLES: ConfigOption[str | None] = ConfigOption(
    key="execution.evolution.history",
    parse=STRING,
    default=None,
    description=(
        "Tables that new and changed operators read in place of a history that its source no longer has: `UID=PATH` for "
        "each source, separated by `;`."
    ),
    check=Limit(
        "must be UID=PATH, and several separated by ;",
        lambda value: (
            value is None or all(all(pair.partition("=")) for pair in parse_list(value) or [""])
        ),
    ),
)

OPERATOR_CHAINING: ConfigOption[bool] = ConfigOption(
    key="pipeline.operator-chaining.enabled",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let operators without an exchange between them call each other. Results are the same."
    ),
    fallback_keys=("pipeline.operator-chaining",),
)

AUTO_UIDS: ConfigOption[bool] = ConfigOption(
    key="pipeline.auto-generate-uids",
    parse=BOOLEAN,
    default=True,
    description=(
        "Give an operator without a uid one by its place in the program. With false, every source, "
        "operator and sink needs a uid."
    ),
)

FRAME_RECORDS: ConfigOption[int] = ConfigOption(
    key="execution.frame.max-records",
    parse=INTEGER,
    default=4096,
    description="Most records in one frame, the unit of an exchange.",
    check=between(1, 1_000_000),
)

SORTED_INPUTS_MEMORY: ConfigOption[int] = ConfigOption(
    key="execution.sorted-inputs.memory",
    parse=MEMORY,
    default=256 << 20,
    description=(
        "Memory for the records of one key group in a batch run, in bytes; more are spilled to "
        "local disks."
    ),
    check=Limit("must be 1 or more", lambda value: value >= 1),
)

MAX_RECORDS_PER_BATCH: ConfigOption[int] = ConfigOption(
    key="execution.live.max-records-per-batch",
    parse=INTEGER,
    default=1_000_000,
    description=(
        "Most records of one micro-batch from each source. Files are taken whole: their limit is "
        "`execution.live.max-files-per-batch`."
    ),
    check=Limit("must be 1 or more", lambda value: value >= 1),
)

MAX_FILES_PER_BATCH: ConfigOption[int] = ConfigOption(
    key="execution.live.max-files-per-batch",
    parse=INTEGER,
    default=8,
    description=(
        "Most files of one micro-batch from each source, also of history that is read as a stream."
    ),
    check=Limit("must be 1 or more", lambda value: value >= 1),
)

STATE_BACKEND: ConfigOption[str] = ConfigOption(
    key="state.backend.type",
    parse=Parser("backend", lambda text: _BACKENDS.get(text.strip().lower(), text)),
    default="hashmap",
    description=(
        "Place of the state of a live run: the memory of each worker process (`hashmap`; Flink's "
        "`jobmanager`, `filesystem`), or files that the workers of an executor share (`lmdb`; "
        "Flink's `rocksdb`, `forst`)."
    ),
    check=one_of("hashmap", "lmdb"),
    fallback_keys=("state.backend",),
)

SAVEPOINT_DIR: ConfigOption[str | None] = ConfigOption(
    key="execution.checkpointing.savepoint-dir",
    parse=STRING,
    default=None,
    description=(
        "Directory or store of savepoints, unless a request names another; when unset, "
        "`savepoints` in the checkpoint directory."
    ),
    check=NOT_BLANK,
    fallback_keys=("state.savepoints.dir",),
)

RECOVERY_PATH: ConfigOption[str | None] = ConfigOption(
    key="execution.state-recovery.path",
    parse=STRING,
    default=None,
    description=(
        "Savepoint from which a new job starts; without effect if the checkpoint directory is in "
        "use."
    ),
    check=NOT_BLANK,
    fallback_keys=("execution.savepoint.path",),
)

IGNORE_UNCLAIMED_STATE: ConfigOption[bool] = ConfigOption(
    key="execution.state-recovery.ignore-unclaimed-state",
    parse=BOOLEAN,
    default=False,
    description=(
        "Drop state and positions of operators and sources that the program no longer has."
    ),
    fallback_keys=("execution.savepoint.ignore-unclaimed-state",),
)

IGNORE_SOURCE_POSITIONS: ConfigOption[bool] = ConfigOption(
    key="execution.state-recovery.ignore-source-positions",
    parse=BOOLEAN,
    default=False,
    description=(
        "Start although a streaming DataFrame cannot continue at the saved position; it must "
        "begin behind the records already read."
    ),
)

IGNORE_KEY_KINDS: ConfigOption[bool] = ConfigOption(
    key="execution.state-recovery.ignore-key-kinds",
    parse=BOOLEAN,
    default=False,
    description=(
        "Continue although the first keys of an operator have other kinds than the stored ones."
    ),
)

ALL_OPTIONS: tuple[ConfigOption[Any], ...] = (
    RUNTIME_MODE,
    TARGET,
    PARALLELISM,
    MAX_PARALLELISM,
    JOB_NAME,
    CHECKPOINT_DIR,
    CHECKPOINT_INTERVAL,
    INTERVAL_DURING_BACKLOG,
    HISTORY,
    HISTORY_PARALLELISM,
    OPERATOR_CHAINING,
    AUTO_UIDS,
    FRAME_RECORDS,
    SORTED_INPUTS_MEMORY,
    MAX_RECORDS_PER_BATCH,
    MAX_FILES_PER_BATCH,
    STATE_BACKEND,
    SAVEPOINT_DIR,
    RECOVERY_PATH,
    ADVANCE_TO,
    EVOLUTION,
    SHADOW,
    EVOLUTION_JOB,
    EVOLUTION_REST,
    EVOLUTION_SINKS,
    START_EMPTY,
    HISTORY_TABLES,
    IGNORE_UNCLAIMED_STATE,
    IGNORE_SOURCE_POSITIONS,
    IGNORE_KEY_KINDS,
    *LIVE_OPTIONS,
    *LOGGING_OPTIONS,
    *UI_OPTIONS,
    *REPORTER_OPTIONS,
    *BATCH_OPTIONS,
    *BACKLOG_OPTIONS,
    *FILE_OPTIONS,
    *TIME_OPTIONS,
    *JOIN_OPTIONS,
    *STATE_OPTIONS,
    *REUSE_OPTIONS,
    *RESTART_OPTIONS,
    *PYTHON_OPTIONS,
    *ACCEPTED_OPTIONS,
)
"""Every option, in the order of the reference page."""

RULES: tuple[Rule, ...] = (
    Rule(
        options=(HISTORY, INTERVAL_DURING_BACKLOG),
        requirement=(
            f"{HISTORY.key}=batch needs {INTERVAL_DURING_BACKLOG.key} to be 0 or unset, and {HISTORY.key}=stream needs it "
            "not to be 0"
        ),
        holds=lambda how, interval: (
            how is None or interval is None or (how == "batch") == (interval == timedelta(0))
        ),
    ),
    Rule(
        options=(INTERVAL_DURING_BACKLOG, CHECKPOINT_INTERVAL),
        requirement=(
            f"{INTERVAL_DURING_BACKLOG.key} must be 0 or not shorter than {CHECKPOINT_INTERVAL.key}"
        ),
        holds=lambda backlog, live: backlog in (None, timedelta(0)) or backlog >= live,
    ),
    Rule(
        options=(HISTORY_PARALLELISM, HISTORY, INTERVAL_DURING_BACKLOG),
        requirement=f"{HISTORY_PARALLELISM.key} needs {HISTORY.key}=batch: it is that of a batch run",
        holds=lambda tasks, how, interval: (
            tasks is None or how == "batch" or interval == timedelta(0)
        ),
    ),
    Rule(
        options=(HISTORY_PARALLELISM, MAX_PARALLELISM),
        requirement=f"{HISTORY_PARALLELISM.key} must not exceed {MAX_PARALLELISM.key}",
        holds=lambda tasks, key_groups: tasks is None or tasks <= key_groups,
    ),
    Rule(
        options=(PARALLELISM, MAX_PARALLELISM),
        requirement=f"{PARALLELISM.key} must not exceed {MAX_PARALLELISM.key}",
        holds=lambda subtasks, key_groups: subtasks is None or subtasks <= key_groups,
    ),
    Rule(
        options=(SHADOW, CHECKPOINT_DIR),
        requirement=f"{SHADOW.key} needs {CHECKPOINT_DIR.key}: the output is below it",
        holds=lambda sinks, directory: sinks is ShadowSinks.OFF or directory is not None,
    ),
    Rule(
        options=(EXPONENTIAL_INITIAL, EXPONENTIAL_MAXIMUM),
        requirement=f"{EXPONENTIAL_INITIAL.key} must not exceed {EXPONENTIAL_MAXIMUM.key}",
        holds=lambda initial, maximum: initial <= maximum,
    ),
)
"""Conditions on several options together."""

OPEN_PREFIXES: dict[str, str] = {
    "spark.": "Passed to Spark as they are, `spark.master` for example.",
    "pipeline.global-job-parameters": (
        "Parameters of your own program: `pipeline.global-job-parameters.day`, or several as "
        "`a:1,b:2` under the prefix itself."
    ),
    **ACCEPTED_PREFIXES,
}
"""Prefix of keys that are not declared here to a sentence about their effect."""

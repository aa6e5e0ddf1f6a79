"""The program of one level, as a frozen value.

The planner makes it, and a worker makes operators of it. It does not depend on Spark. It contains user
functions, so `cloudpickle` sends it to the workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import CallSite
from penstock.program.channel import ChannelSpec, WatermarkGroup
from penstock.program.operator_spec import Copies, OperatorSpec
from penstock.program.run_settings import RunSettings
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class SourceType:
    """The declared type of a source whose records must be coerced.

    Attributes:
        name: Name of the source.
        type_info: The declared type.
        origin: The user's line that created the source.
    """

    name: str
    type_info: TypeInformation
    origin: CallSite | None


@dataclass(frozen=True, slots=True)
class ComputedSource:
    """The results that Spark SQL makes of a source.

    Attributes:
        type_info: Their type. Its fields are the columns.
        timestamps: Of windows, the operator that assigns timestamps: the last column tells of each result whether all its
            records have one. None if there is no such column.
    """

    type_info: TypeInformation
    timestamps: OperatorSpec | None = None


@dataclass(frozen=True, slots=True)
class LevelProgram:
    """The program of a level in one run.

    Attributes:
        level: Exchange depth.
        operators: In topological order.
        source_operators: Source id to the ids of the operators that read it; level 0 only.
        source_channels: Source id to the channels it feeds directly; level 0 only.
        inputs: Channels this level reads from other levels.
        outputs: Channels this level writes to other levels, and to sinks.
        watermark_groups: Input channel to the groups it waits for.
        settings: Settings of the run.
        source_types: Source id to declared type, of sources whose records must be coerced; level
            0 only.
        untimed_sources: Sources whose timestamps are dropped; level 0 only.
        source_copies: Source id to the copies that its readers get; level 0 only.
        local_channels: Channels between operators of this level.
        computed_sources: Source id to the results that Spark SQL makes of it; level 0 only.
        is_local: In a batch run each key arrives once, and nothing depends on which task gets it: so that may be the task of level
            0 that has it.
    """

    level: int
    operators: tuple[OperatorSpec, ...]
    source_operators: dict[int, tuple[int, ...]]
    source_channels: dict[int, tuple[int, ...]]
    inputs: tuple[ChannelSpec, ...]
    outputs: tuple[ChannelSpec, ...]
    watermark_groups: dict[int, tuple[WatermarkGroup, ...]]
    settings: RunSettings
    source_types: dict[int, SourceType] = field(default_factory=dict)
    untimed_sources: frozenset[int] = frozenset()
    source_copies: dict[int, Copies] = field(default_factory=dict)
    local_channels: tuple[ChannelSpec, ...] = ()
    computed_sources: dict[int, ComputedSource] = field(default_factory=dict)
    is_local: bool = False

"""What one level runs, as a frozen value.

The planner writes it, a worker turns it into operators. It knows nothing of Spark; `cloudpickle`
carries it to the workers because it holds user functions.
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
    """The declared type of a source whose records may not have it.

    Attributes:
        name: Name of the source.
        type_info: What its records are brought to.
        origin: The user's line that created the source.
    """

    name: str
    type_info: TypeInformation
    origin: CallSite | None


@dataclass(frozen=True, slots=True)
class LevelProgram:
    """Everything a level runs in one run.

    Attributes:
        level: Exchange depth.
        operators: In topological order.
        source_operators: Source id to the ids of the operators that read it; level 0 only.
        source_channels: Source id to the channels it feeds directly; level 0 only.
        inputs: Channels this level reads from other levels.
        outputs: Channels this level writes to other levels, and to sinks.
        watermark_groups: Input channel to the groups it waits for.
        settings: Of the run.
        source_types: Source id to declared type, of sources whose records may lack it; level
            0 only.
        untimed_sources: Sources whose records enter without their timestamps; level 0 only.
        source_copies: Source id to which of its readers get copies; level 0 only.
        local_channels: Channels between operators of this level.
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

"""All operators: one file each, and the table that names them."""

from __future__ import annotations

from functools import partial

from penstock.program.operator_spec import OperatorSpec
from penstock.program.operators import OperatorKind
from penstock.program.run_settings import RunSettings
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.async_io.operator import AsyncOperator
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.broadcast_process import BroadcastProcessOperator
from penstock.runtime.operators.custom import CustomOperator
from penstock.runtime.operators.filter import FilterOperator
from penstock.runtime.operators.flat_map import FlatMapOperator
from penstock.runtime.operators.joins.interval_join import IntervalJoinOperator
from penstock.runtime.operators.joins.regular_join import RegularJoinOperator
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.operators.keyed_broadcast_process import KeyedBroadcastProcessOperator
from penstock.runtime.operators.keyed_custom import KeyedCustomOperator
from penstock.runtime.operators.keyed_map import (
    KeyedFilterOperator,
    KeyedFlatMapOperator,
    KeyedMapOperator,
)
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.keyed_reduce import KeyedReduceOperator
from penstock.runtime.operators.keyed_two_inputs import (
    KeyedCoFlatMapOperator,
    KeyedCoMapOperator,
    KeyedCoProcessOperator,
)
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.timestamps import TimestampsOperator
from penstock.runtime.operators.two_inputs import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
)
from penstock.runtime.operators.windows.co_group_at_end import CoGroupAtEndOperator
from penstock.runtime.operators.windows.keyed_window import KeyedWindowOperator
from penstock.state.handles.key_context import KeyContext
from penstock.state.level_state import LevelState

UNKEYED: dict[OperatorKind, type[Operator]] = {
    OperatorKind.MAP: MapOperator,
    OperatorKind.FLAT_MAP: FlatMapOperator,
    OperatorKind.FILTER: FilterOperator,
    OperatorKind.PROCESS: ProcessOperator,
    OperatorKind.TIMESTAMPS: TimestampsOperator,
    OperatorKind.ASYNC: AsyncOperator,
    OperatorKind.KEYED_ASYNC: AsyncOperator,
    OperatorKind.CO_MAP: CoMapOperator,
    OperatorKind.CO_FLAT_MAP: CoFlatMapOperator,
    OperatorKind.CO_PROCESS: CoProcessOperator,
    OperatorKind.BROADCAST_PROCESS: BroadcastProcessOperator,
    OperatorKind.CUSTOM: CustomOperator,
    OperatorKind.CO_CUSTOM: CustomOperator,
}
"""Operators without keyed state; asynchronous calls may follow a key_by all the same."""

KEYED: dict[OperatorKind, type[KeyedOperator]] = {
    OperatorKind.KEYED_MAP: KeyedMapOperator,
    OperatorKind.KEYED_FLAT_MAP: KeyedFlatMapOperator,
    OperatorKind.KEYED_FILTER: KeyedFilterOperator,
    OperatorKind.KEYED_REDUCE: KeyedReduceOperator,
    OperatorKind.KEYED_PROCESS: KeyedProcessOperator,
    OperatorKind.KEYED_WINDOW: KeyedWindowOperator,
    OperatorKind.KEYED_CO_MAP: KeyedCoMapOperator,
    OperatorKind.KEYED_CO_FLAT_MAP: KeyedCoFlatMapOperator,
    OperatorKind.KEYED_CO_PROCESS: KeyedCoProcessOperator,
    OperatorKind.KEYED_CO_GROUP: CoGroupAtEndOperator,
    OperatorKind.KEYED_INTERVAL_JOIN: IntervalJoinOperator,
    OperatorKind.KEYED_REGULAR_JOIN: RegularJoinOperator,
    OperatorKind.KEYED_BROADCAST_PROCESS: KeyedBroadcastProcessOperator,
    OperatorKind.KEYED_CUSTOM: KeyedCustomOperator,
    OperatorKind.KEYED_CO_CUSTOM: KeyedCustomOperator,
}
"""Operators behind key_by. With `UNKEYED`, total over `OperatorKind` (tested)."""


def make_operator(
    spec: OperatorSpec, output: Output, settings: RunSettings, subtask: int, state: LevelState
) -> Operator:
    """Return the operator `spec` describes, not yet opened."""
    if spec.kind in UNKEYED and not spec.broadcast_states:
        return UNKEYED[spec.kind](spec, output, OperatorContext(spec, settings, subtask))
    scope = KeyedScope(state.backend, KeyContext(), state.group_of, state.now_ms)
    context = OperatorContext(spec, settings, subtask, scope)
    if spec.kind in UNKEYED:
        return UNKEYED[spec.kind](spec, output, context)
    make = KEYED[spec.kind]
    if make is KeyedReduceOperator:
        make = partial(make, final_results_only=settings.final_results_only)  # type: ignore[assignment]
    return make(spec, output, context, scope)

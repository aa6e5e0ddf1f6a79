"""All operators: one file each, and the table that names them."""

from __future__ import annotations

from functools import partial

from penstock.runtime.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.filter import FilterOperator
from penstock.runtime.operators.flat_map import FlatMapOperator
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.operators.keyed_map import (
    KeyedFilterOperator,
    KeyedFlatMapOperator,
    KeyedMapOperator,
)
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.keyed_reduce import KeyedReduceOperator
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.timestamps import TimestampsOperator
from penstock.runtime.output import Output
from penstock.runtime.program import OperatorKind, OperatorSpec, RunSettings
from penstock.state.key_context import KeyContext
from penstock.state.level_state import LevelState

UNKEYED: dict[OperatorKind, type[Operator]] = {
    OperatorKind.MAP: MapOperator,
    OperatorKind.FLAT_MAP: FlatMapOperator,
    OperatorKind.FILTER: FilterOperator,
    OperatorKind.PROCESS: ProcessOperator,
    OperatorKind.TIMESTAMPS: TimestampsOperator,
}
"""Operators without a key."""

KEYED: dict[OperatorKind, type[KeyedOperator]] = {
    OperatorKind.KEYED_MAP: KeyedMapOperator,
    OperatorKind.KEYED_FLAT_MAP: KeyedFlatMapOperator,
    OperatorKind.KEYED_FILTER: KeyedFilterOperator,
    OperatorKind.KEYED_REDUCE: KeyedReduceOperator,
    OperatorKind.KEYED_PROCESS: KeyedProcessOperator,
}
"""Operators behind key_by. With `UNKEYED`, total over `OperatorKind` (tested)."""


def make_operator(
    spec: OperatorSpec, output: Output, settings: RunSettings, subtask: int, state: LevelState
) -> Operator:
    """Return the operator `spec` describes, not yet opened."""
    if spec.kind in UNKEYED:
        return UNKEYED[spec.kind](spec, output, OperatorContext(spec, settings, subtask))
    scope = KeyedScope(state.backend, KeyContext(), state.group_of)
    context = OperatorContext(spec, settings, subtask, scope)
    make = KEYED[spec.kind]
    if make is KeyedReduceOperator:
        make = partial(make, final_results_only=settings.final_results_only)  # type: ignore[assignment]
    return make(spec, output, context, scope)

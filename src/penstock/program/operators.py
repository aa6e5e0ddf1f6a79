"""The catalogue of operators: one row per kind, with all facts about it.

The planner, the runtime and the API read the facts about a kind here; no other module has a list of
kinds. A new kind needs a row, the class that the row names, and the method of the API that adds it
to the graph. A node has its row, so there is nothing to register.

A user function decides whether it stores its outputs (`plan.phases.operator_traits`). An operator with state
stores them, whatever the function promises. A window at the end of a bounded input is no such state: it
belongs to a batch run, and no operator reads its records again. FLIP-329's prototype has the same values
for sources, sinks, timestamps, functions and asynchronous calls. It has none for reduce, windows and
joins; here they have the safe ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.program.operator_kind import (
    Emit,
    Inputs,
    Keeps,
    OperatorKind,
    Returns,
    StateUse,
    TimeUse,
)
from penstock.state.schema.own_states import (
    INTERVAL_BUFFERS,
    REDUCE_AGGREGATE,
    WINDOW_CONTENTS,
    WINDOW_FUNCTION_PREFIX,
    WINDOW_MERGES,
    WINDOW_SECOND_CONTENTS,
    WINDOW_TRIGGER_PREFIX,
)
from penstock.user_failure import short

CREATE = "create_stream_operator"
"""The method of a factory that creates an operator."""

RECORD_METHODS: dict[Inputs, str] = {
    Inputs.ONE: "process_element",
    Inputs.TWO: "process_element1",
    Inputs.MANY: "get_inputs",
}
"""Inputs of an operator to the method that takes records, or returns what takes them."""


def problem_of_inputs(inputs: Any, streams: int) -> str | None:
    """Return what is wrong with the result of `get_inputs`, None if it can be used."""
    if not isinstance(inputs, Sequence) or isinstance(inputs, str | bytes):
        return f"get_inputs returned {short(inputs)}, which is not a list of inputs"
    if len(inputs) != streams:
        return f"get_inputs returned {len(inputs)} inputs, but the operator reads {streams} streams"
    for number, handler in enumerate(inputs, 1):
        if not callable(getattr(handler, "process_element", None)):
            return f"input {number} is {short(handler)}, which has no process_element"
        if getattr(handler, "input_id", number) != number:
            return f"input {number} has the input_id {short(handler.input_id)}"
    return None


INPUTS_HINT = (
    "Return one Input per stream from get_inputs, in the order in which the streams are connected; "
    "the input_id of the first is 1."
)
"""The hint of errors about the result of `get_inputs`."""


_WINDOW_STATES = (WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS, WINDOW_MERGES)
_WINDOW_PREFIXES = (WINDOW_TRIGGER_PREFIX, WINDOW_FUNCTION_PREFIX)
_HERE = "penstock.runtime.operators."

SOURCE = OperatorKind("SOURCE", None)
SINK = OperatorKind("SINK", None)
UNION = OperatorKind("UNION", None)
KEY_BY = OperatorKind("KEY_BY", None)
PARTITION = OperatorKind("PARTITION", None)
SIDE_OUTPUT = OperatorKind("SIDE_OUTPUT", None)
MAP = OperatorKind(
    "MAP",
    f"{_HERE}application:ApplyOperator",
    time=TimeUse.IGNORES,
    keeps=Keeps.AS_FUNCTION,
    returns=Returns.ONE,
)
FLAT_MAP = replace(MAP, name="FLAT_MAP", keeps=Keeps.AS_OBJECT, returns=Returns.MANY)
FILTER = replace(MAP, name="FILTER", returns=Returns.TRUTH, makes_values=False)
PROCESS = replace(
    FLAT_MAP,
    name="PROCESS",
    time=TimeUse.SHOWS,
    returns=Returns.MANY_OR_NONE,
    takes_context=True,
    has_side_outputs=True,
)
EXPRESSIONS = OperatorKind(
    "EXPRESSIONS",
    f"{_HERE}expressions:ExpressionOperator",
    time=TimeUse.IGNORES,
    keeps=Keeps.NOTHING,
    makes_values=False,
)
MAP_BATCHES = OperatorKind(
    "MAP_BATCHES",
    f"{_HERE}map_batches:MapBatchesOperator",
    time=TimeUse.IGNORES,
    keeps=Keeps.NOTHING,
    holds_input=True,
)
ASYNC_MAP_BATCHES, MAP_ROWS = (
    replace(MAP_BATCHES, name=name, implementation=f"{_HERE}{implementation}")
    for name, implementation in (
        ("ASYNC_MAP_BATCHES", "async_calls:AsyncMapBatchesOperator"),
        ("MAP_ROWS", "map_batches:MapRowsOperator"),
    )
)
KEYED_MAP_GROUPS = OperatorKind(
    "KEYED_MAP_GROUPS",
    f"{_HERE}map_batches:MapGroupsOperator",
    is_keyed=True,
    time=TimeUse.ORDERS,
    keeps=Keeps.NOTHING,
    state=StateUse.IF_OPENED,
)
TIMESTAMPS = OperatorKind(
    "TIMESTAMPS",
    f"{_HERE}timestamps:TimestampsOperator",
    time=TimeUse.ASSIGNS,
    keeps=Keeps.NOTHING,
    makes_values=False,
)
ASYNC = OperatorKind(
    "ASYNC",
    f"{_HERE}async_calls:AsyncOperator",
    time=TimeUse.IGNORES,
    keeps=Keeps.AS_OBJECT,
    holds_input=True,
)
KEYED_ASYNC = replace(ASYNC, name="KEYED_ASYNC", is_keyed=True)
KEYED_MAP = OperatorKind(
    "KEYED_MAP",
    f"{_HERE}keyed_process:KeyedApplyOperator",
    is_keyed=True,
    time=TimeUse.ORDERS,
    keeps=Keeps.AS_FUNCTION,
    state=StateUse.IF_OPENED,
    returns=Returns.ONE,
)
KEYED_FLAT_MAP = replace(
    KEYED_MAP, name="KEYED_FLAT_MAP", keeps=Keeps.AS_OBJECT, returns=Returns.MANY
)
KEYED_FILTER = replace(KEYED_MAP, name="KEYED_FILTER", returns=Returns.TRUTH, makes_values=False)
KEYED_REDUCE = OperatorKind(
    "KEYED_REDUCE",
    f"{_HERE}keyed_reduce:KeyedReduceOperator",
    is_keyed=True,
    time=TimeUse.ORDERS,
    keeps=Keeps.RESULTS,
    state=StateUse.ALWAYS,
    own_states=(REDUCE_AGGREGATE,),
    emit=Emit.ROLLING,
)
KEYED_AGGREGATE = OperatorKind(
    "KEYED_AGGREGATE",
    f"{_HERE}keyed_aggregate:KeyedAggregateOperator",
    is_keyed=True,
    time=TimeUse.ORDERS,
    keeps=Keeps.NOTHING,
    holds_input=True,
    state=StateUse.ALWAYS,
    own_states=(REDUCE_AGGREGATE,),
    emit=Emit.FINAL,
    makes_values=False,
)
KEYED_LATEST = replace(
    KEYED_AGGREGATE,
    name="KEYED_LATEST",
    implementation=f"{_HERE}keyed_reduce:KeyedLatestOperator",
    state=StateUse.IF_OPENED,
    own_states=(),
)
KEYED_CHANGES = replace(
    KEYED_LATEST,
    name="KEYED_CHANGES",
    implementation=f"{_HERE}keyed_changes:KeyedChangesOperator",
    keeps=Keeps.STATE,
    state=StateUse.ALWAYS,
    makes_values=True,
    emit=None,
)
KEYED_TOP_N = replace(
    KEYED_CHANGES,
    name="KEYED_TOP_N",
    implementation=f"{_HERE}keyed_changes:KeyedTopNOperator",
    keeps=Keeps.NOTHING,
)
KEYED_PROCESS = OperatorKind(
    "KEYED_PROCESS",
    f"{_HERE}keyed_process:KeyedProcessOperator",
    is_keyed=True,
    time=TimeUse.TIMERS,
    keeps=Keeps.AS_OBJECT,
    state=StateUse.ALWAYS,
    has_side_outputs=True,
    returns=Returns.MANY_OR_NONE,
    takes_context=True,
)
KEYED_WINDOW = OperatorKind(
    "KEYED_WINDOW",
    f"{_HERE}windows.keyed_window:KeyedWindowOperator",
    is_keyed=True,
    keeps=Keeps.RESULTS,
    keeps_at_end=Keeps.AS_OBJECT,
    state=StateUse.ALWAYS,
    own_states=_WINDOW_STATES,
    own_prefixes=_WINDOW_PREFIXES,
    has_side_outputs=True,
    emit=Emit.WINDOW_END,
)
CO_MAP = replace(MAP, name="CO_MAP", inputs=Inputs.TWO, returns=Returns.ONE_OR_NONE)
CO_FLAT_MAP = replace(
    PROCESS,
    name="CO_FLAT_MAP",
    inputs=Inputs.TWO,
    time=TimeUse.IGNORES,
    takes_context=False,
    has_side_outputs=False,
)
CO_PROCESS = replace(PROCESS, name="CO_PROCESS", inputs=Inputs.TWO)
KEYED_CO_MAP = OperatorKind(
    "KEYED_CO_MAP",
    f"{_HERE}keyed_custom:KeyedTwoInputOperator",
    inputs=Inputs.TWO,
    is_keyed=True,
    time=TimeUse.ORDERS,
    keeps=Keeps.AS_FUNCTION,
    holds_input=True,
    state=StateUse.IF_OPENED,
    returns=Returns.ONE_OR_NONE,
)
KEYED_CO_FLAT_MAP = replace(
    KEYED_CO_MAP, name="KEYED_CO_FLAT_MAP", keeps=Keeps.AS_OBJECT, returns=Returns.MANY_OR_NONE
)
KEYED_CO_PROCESS = replace(
    KEYED_CO_FLAT_MAP,
    name="KEYED_CO_PROCESS",
    time=TimeUse.TIMERS,
    state=StateUse.ALWAYS,
    takes_context=True,
    has_side_outputs=True,
)
KEYED_CO_GROUP = replace(
    KEYED_WINDOW,
    name="KEYED_CO_GROUP",
    implementation=f"{_HERE}windows.co_group_at_end:CoGroupAtEndOperator",
    inputs=Inputs.TWO,
    holds_input=True,
    has_side_outputs=False,
)
KEYED_INTERVAL_JOIN = OperatorKind(
    "KEYED_INTERVAL_JOIN",
    f"{_HERE}interval_join:IntervalJoinOperator",
    inputs=Inputs.TWO,
    is_keyed=True,
    keeps=Keeps.RESULTS,
    holds_input=True,
    state=StateUse.ALWAYS,
    own_states=INTERVAL_BUFFERS,
    returns=Returns.MANY_OR_NONE,
    has_side_outputs=True,
)
KEYED_REGULAR_JOIN = OperatorKind(
    "KEYED_REGULAR_JOIN",
    f"{_HERE}regular_join:RegularJoinOperator",
    inputs=Inputs.TWO,
    is_keyed=True,
    keeps=Keeps.STATE,
    holds_input=True,
    state=StateUse.ALWAYS,
    makes_values=False,
)
BROADCAST_PROCESS = replace(
    CO_PROCESS,
    name="BROADCAST_PROCESS",
    implementation=f"{_HERE}application:BroadcastProcessOperator",
    state=StateUse.ALWAYS,
)
KEYED_BROADCAST_PROCESS = replace(
    KEYED_CO_PROCESS,
    name="KEYED_BROADCAST_PROCESS",
    implementation=f"{_HERE}keyed_process:KeyedBroadcastProcessOperator",
)
CUSTOM = OperatorKind(
    "CUSTOM",
    f"{_HERE}custom:CustomOperator",
    is_own=True,
    keeps=Keeps.AS_OPERATOR,
    holds_input=True,
    has_side_outputs=True,
)
CO_CUSTOM = replace(CUSTOM, name="CO_CUSTOM", inputs=Inputs.TWO)
KEYED_CUSTOM = replace(
    CUSTOM,
    name="KEYED_CUSTOM",
    implementation=f"{_HERE}keyed_custom:KeyedCustomOperator",
    is_keyed=True,
    state=StateUse.ALWAYS,
)
KEYED_CO_CUSTOM = replace(KEYED_CUSTOM, name="KEYED_CO_CUSTOM", inputs=Inputs.TWO)
MULTIPLE_CUSTOM = replace(CUSTOM, name="MULTIPLE_CUSTOM", inputs=Inputs.MANY)
KEYED_MULTIPLE_CUSTOM = replace(KEYED_CUSTOM, name="KEYED_MULTIPLE_CUSTOM", inputs=Inputs.MANY)

CATALOGUE: tuple[OperatorKind, ...] = tuple(
    kind for kind in list(globals().values()) if isinstance(kind, OperatorKind)
)
"""All rows, in the order above."""

PASSING = frozenset({UNION, KEY_BY, PARTITION, SIDE_OUTPUT})
"""Kinds of nodes that only route records."""

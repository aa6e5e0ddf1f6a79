"""Decides which places are legal for an operator that folds, and why the others are not.

Folding outside of state calls the function for other groups of records, or at another time. It is legal
only if the results are the same:

| place          | conditions                                                                   |
|----------------|------------------------------------------------------------------------------|
| STATE          | none                                                                         |
| RECEIVER_GROUP | a batch run with one result per key, or windows that depend only on timestamps; the function has no `open` or `close`, which could access state |
| RECEIVER_FRAME | the same; records have no timestamps, or the function ignores their order: after an exchange the records of several tasks are in order of time only when all have arrived |
| SENDER         | the same, or sessions with one gap for all records; the function is associative, and for records with timestamps also commutative |
| SOURCE_SQL     | the same, and those of `plan.folding.columns`                                |

Values that a serializer of the program writes are not folded before they are received as a group: what the
function keeps of them has no declared form.

The user promises that a function is associative or commutative, or the declared type of a field proves
it. Records without timestamps keep their order per key, so their function need not commute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.graph.logical import Node
from penstock.plan.phases.operator_traits import raises_node_error
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec
from penstock.program.fold import NO_PROMISES, Fold, Place, Promises
from penstock.program.level import OperatorSpec, has_life_cycle
from penstock.program.operator_fold import fold_of, function_of, merges
from penstock.program.operator_kind import Emit
from penstock.program.run_settings import RunKind
from penstock.program.windows import RegularWindows
from penstock.types.description import has_serializers

ASSOCIATIVE = "is_associative"
COMMUTATIVE = "is_commutative"
"""Law to the method by which a function object promises it."""


@dataclass(frozen=True, slots=True)
class Folding:
    """One operator that folds, in one run.

    Attributes:
        fold: Its fold; None if it stores all records.
        is_timed: Whether its records have another order than that of arrival: they may have timestamps,
            or results of a bounded region are among them.
        ends: Whether the run reads all its sources to the end.
        combines: `execution.batch.combine`.
        promises: Laws of the function, promised or proven.
    """

    op: OperatorSpec
    run: RunPlan
    emit: Emit
    fold: Fold | None
    fed: tuple[ChannelSpec, ...]
    is_timed: bool
    ends: bool
    combines: bool
    promises: Promises

    @property
    def as_columns(self) -> bool:
        """True if its records are sent as columns."""
        aggregate = function_of(self.op)
        if not isinstance(aggregate, KeyedAggregate) or not aggregate.has_columns:
            return False
        window = self.op.window
        if window is not None and window.session_gap_ms is not None:
            # A window that fires late does so for every record.
            return self.run.kind is RunKind.LIVE and not window.allowed_lateness
        return window is None or (window.panes is not None and window.assigner.is_event_time())

    @property
    def ignores_order(self) -> bool:
        """True if every order of folding gives exactly the same result."""
        return None not in (self.promises.associative, self.promises.commutative)


def folding_of(
    plan: PhysicalPlan, run: RunPlan, op: OperatorSpec, untimed: frozenset[int]
) -> Folding | None:
    """Return the fold of an operator in a run; None if it does not fold."""
    emit = op.kind.emit
    if emit is None:
        return None
    if emit is Emit.ROLLING and run.final_results_only:
        emit = Emit.FINAL
    node, fold = plan.graph.node(op.id), fold_of(op)
    fed = tuple(
        channel
        for channel in plan.channels
        if channel.target_level != SINK_LEVEL and channel.target_operator == op.id
    )
    ended = {reading.source for reading in run.readings if reading.ends}
    return Folding(
        op,
        run,
        emit,
        fold,
        fed,
        # Results come before earlier records of other channels, which only a whole key group can give.
        is_timed=not all(channel.id in untimed and not channel.has_results for channel in fed),
        ends=not run.hands_over and all(ended.issuperset(channel.sources) for channel in fed),
        combines=plan.options.combines,
        promises=_promises(node, op) if fold is not None else NO_PROMISES,
    )


def obstacles(folding: Folding) -> dict[Place, str]:
    """Return the illegal places, each with a reason that completes "because …"."""
    reasons: dict[Place, str] = {}
    for place, checks in _OBSTACLES.items():
        for check in checks:
            refused = check(folding)
            if refused is not None:
                reasons[place] = refused
                break
    return reasons


def is_legal(folding: Folding, places: frozenset[Place]) -> bool:
    """Return whether a choice of places gives the results of STATE alone."""
    if Place.STATE not in places or places & obstacles(folding).keys():
        return False
    if folding.fold is None or folding.fold.create is None:
        return True
    # An accumulator is no record, so all inputs must be folded, or none.
    return Place.RECEIVER_FRAME not in places or Place.SENDER in places


def panes_in_state(folding: Folding) -> RegularWindows | None:
    """Return the shape of windows whose state is in panes; None if each window has its own state.

    Windows that share panes merge accumulators. A function with `open` must be opened before its
    `merge` can be tried, so the operator tries it then.
    """
    window, fold = folding.op.window, folding.fold
    if window is None or window.panes is None:
        return None
    shares = not window.panes.is_tumbling
    if not shares or fold is None or has_life_cycle(window.fold_function) or merges(fold):
        return window.panes
    return None


def _is_live(folding: Folding) -> str | None:
    if folding.run.kind is RunKind.LIVE:
        return "a live run goes on with what is in state, micro-batch by micro-batch"
    return None


def _is_live_by_record(folding: Folding) -> str | None:
    """Refuse live runs, unless what a micro-batch emits does not depend on when records are folded."""
    window = folding.op.window
    if window is not None and window.session_gap_ms is not None and folding.as_columns:
        return "a late record belongs to a session only if that is open, which its reader finds out"
    return None if folding.as_columns else _is_live(folding)


def _has_columns(folding: Folding) -> str | None:
    return "columns are merged together" if folding.as_columns else None


def _is_rolling(folding: Folding) -> str | None:
    return "every record has a result" if folding.emit is Emit.ROLLING else None


def _has_life_cycle(folding: Folding) -> str | None:
    function = function_of(folding.op)
    if folding.fold is None or not has_life_cycle(function):
        return None
    return f"{type(function).__name__} has an open or close of its own"


def _has_other_windows(folding: Folding) -> str | None:
    window = folding.op.window
    if window is not None and window.session_gap_ms is not None:
        return "sessions are merged in state"
    return _cannot_be_cut(folding)


def _cannot_be_cut(folding: Folding) -> str | None:
    """Return the reason why one task alone cannot find the records that share a window; None if it can."""
    window = folding.op.window
    if window is None:
        return None
    if window.end_of_stream is not None:
        return None if folding.ends else "its window fires behind this run"
    if window.session_gap_ms is not None:
        shares = True
    elif window.panes is not None and window.assigner.is_event_time():
        shares = not window.panes.is_tumbling
    else:
        return (
            "its windows are not at regular distances in event time, nor sessions with one gap for "
            "all records, or a trigger or evictor decides"
        )
    if shares and folding.fold is not None and not merges(folding.fold):
        return f"merge of {type(window.fold_function).__name__} gives nothing"
    return None


def _keeps_records(folding: Folding) -> str | None:
    return "all records of a key are kept" if folding.fold is None else None


def _is_turned_off(folding: Folding) -> str | None:
    if folding.combines or folding.run.kind is RunKind.LIVE:
        return None
    return "execution.batch.combine is false"


def _has_serializers(folding: Folding) -> str | None:
    """Refuse accumulators of a type of the program, and those that hold records of one."""
    declared = None if folding.fold is None else folding.fold.accumulator_type
    types = [channel.record_type for channel in folding.fed]
    if declared is not None and has_serializers(declared):
        types.append(declared)
    kind = next((type_info for type_info in types if type_info is not None), None)
    return None if kind is None else f"a serializer of the program writes the values of {kind!r}"


def _needs_order(folding: Folding) -> str | None:
    if not folding.is_timed or folding.ignores_order:
        return None
    return (
        f"{folding.op.name!r} reduces the records of a key in order of their timestamps, and its function is "
        f"not declared independent of this order (associative=True, {ASSOCIATIVE}, and "
        f"commutative=True, {COMMUTATIVE})"
    )


def _is_rolling_by_time(folding: Folding) -> str | None:
    # The final result of a rolling operator has the time of the last record; other results have none.
    if folding.op.kind.emit is not Emit.ROLLING or not folding.is_timed:
        return None
    return f"{folding.op.name!r} reduces the records of a key in order of their timestamps"


def _needs_promise(folding: Folding) -> str | None:
    if folding.promises.associative is not None:
        return None
    return f"its function is not declared associative (associative=True, {ASSOCIATIVE})"


def _has_window(folding: Folding) -> str | None:
    window = folding.op.window
    if window is None or window.end_of_stream is not None:
        return None
    return "Spark SQL does not see the windows"


_Check = Callable[[Folding], str | None]

_IN_MEMORY: tuple[_Check, ...] = (_is_live, _is_rolling, _has_other_windows)
_ON_ARRIVAL: tuple[_Check, ...] = (
    _is_rolling,
    _cannot_be_cut,
    _keeps_records,
    _is_turned_off,
)
_BY_KEY: tuple[_Check, ...] = (_is_live, *_ON_ARRIVAL)

_OBSTACLES: dict[Place, tuple[_Check, ...]] = {
    Place.STATE: (),
    Place.RECEIVER_GROUP: (*_IN_MEMORY, _has_life_cycle),
    Place.RECEIVER_FRAME: (
        *_BY_KEY,
        _has_columns,
        _has_serializers,
        _has_other_windows,
        _has_life_cycle,
        _is_rolling_by_time,
        _needs_order,
    ),
    Place.SENDER: (
        _is_live_by_record,
        *_ON_ARRIVAL,
        _has_serializers,
        _needs_promise,
        _has_life_cycle,
        _is_rolling_by_time,
        _needs_order,
    ),
    Place.SOURCE_SQL: (
        *_BY_KEY,
        _needs_promise,
        _has_life_cycle,
        _is_rolling_by_time,
        _needs_order,
        _has_window,
    ),
}
"""Place to the checks that refuse it; the plan shows the reason of the first one."""


def _promises(node: Node, op: OperatorSpec) -> Promises:
    return Promises(
        _promise(node, op, node.promises.associative, ASSOCIATIVE),
        _promise(node, op, node.promises.commutative, COMMUTATIVE),
    )


def _promise(node: Node, op: OperatorSpec, promise: str | None, method: str) -> str | None:
    if promise is not None:
        return promise
    function = function_of(op)
    promises = getattr(function, method, None)
    if promises is None:
        return None
    with raises_node_error(node, method):
        if not promises():
            return None
    return f"{method} of {type(function).__name__} is True"

"""Makes the fold of an operator from the user's function.

Each subtask makes its own fold, because every subtask has its own function objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.program.fold import Fold
from penstock.program.level import OperatorSpec
from penstock.program.operators import KEYED_AGGREGATE
from penstock.program.window_operation import WindowContents, WindowSpec
from penstock.types import TypeInformation
from penstock.user_failure import raise_interrupt


def function_of(op: OperatorSpec) -> Any:
    """Return the function object or callable of an operator that folds."""
    return op.function if op.window is None else op.window.fold_function


def fold_of(op: OperatorSpec) -> Fold | None:
    """Return the fold of an operator; None if it does not fold."""
    if op.kind.emit is None:
        return None
    if op.window is not None:
        return fold_of_window(op.window)
    call = getattr(op.function, op.method) if op.method else op.function
    # Results of an aggregate of columns have another type than its parts.
    kept = op.function.parts if op.kind == KEYED_AGGREGATE else op.result_type
    return Fold(None, call, call, None, kept)


def fold_of_window(window: WindowSpec) -> Fold | None:
    """Return the fold of a window operation; None if it stores all records."""
    make = _OF_WINDOWS.get(window.contents)
    if make is None:
        return None
    kept = window.kept_type
    return make(window.fold_function, kept if kept.need_conversion() else None)


def merges(fold: Fold) -> bool:
    """Return whether the function merges accumulators; without merging windows it need not."""
    if fold.create is None:
        return True
    try:
        left, right = fold.create(), fold.create()
        return fold.merge(left, right) is not None or left is None
    except BaseException as cause:  # noqa: BLE001 - any exception means that it does not merge
        raise_interrupt(cause)
        return False


def _of_reduce(function: Any, kept: TypeInformation | None) -> Fold:
    return Fold(None, function.reduce, function.reduce, None, kept)


def _of_aggregate(function: Any, kept: TypeInformation | None) -> Fold:
    return Fold(
        function.create_accumulator,
        function.add,
        function.merge,
        function.get_result,
        kept,
        may_change=True,
    )


_OF_WINDOWS: dict[WindowContents, Callable[[Any, TypeInformation | None], Fold]] = {
    WindowContents.REDUCE: _of_reduce,
    WindowContents.AGGREGATE: _of_aggregate,
}

"""How an operator folds, from what the user gave it.

A fold is made where it is called: every subtask has function objects of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.program.folding.fold import Fold
from penstock.program.operator_spec import OperatorSpec
from penstock.program.window_operation import WindowContents, WindowSpec
from penstock.types.information import TypeInformation
from penstock.user_failure import raise_interrupt


def function_of(op: OperatorSpec) -> Any:
    """Return the function object, or callable, by which an operator folds."""
    return op.function if op.window is None else op.window.fold_function


def fold_of(op: OperatorSpec) -> Fold | None:
    """Return how an operator folds; None if it does not."""
    if op.kind.emit is None:
        return None
    if op.window is not None:
        return fold_of_window(op.window)
    call = getattr(op.function, op.method) if op.method else op.function
    return Fold(None, call, call, None, op.result_type)


def fold_of_window(window: WindowSpec) -> Fold | None:
    """Return how a window operation folds; None if it keeps all records."""
    make = _OF_WINDOWS.get(window.contents)
    if make is None:
        return None
    kept = window.kept_type
    return make(window.fold_function, kept if kept.need_conversion() else None)


def merges(fold: Fold) -> bool:
    """Return whether accumulators can be merged; a function without such windows need not do it."""
    if fold.create is None:
        return True
    try:
        left, right = fold.create(), fold.create()
        return fold.merge(left, right) is not None or left is None
    except BaseException as cause:  # noqa: BLE001 - whatever it is, accumulators are not merged
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

"""The settings of a window operation. The API makes them, the runtime reads them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from penstock.expressions.steps import ExpressionChain
from penstock.program.windows import RegularWindows, Window
from penstock.types import TypeInformation


class WindowContents(Enum):
    """The contents of a window in state."""

    LIST = auto()
    """All records."""

    REDUCE = auto()
    """The reduced value of the records."""

    AGGREGATE = auto()
    """An accumulator."""

    TWO_LISTS = auto()
    """All records, in one list per input."""


class Evaluation(Enum):
    """The method that is called when a window fires."""

    NONE = auto()
    """No function: the contents are the result."""

    APPLY = auto()
    """`apply(key, window, inputs)`"""

    APPLY_ALL = auto()
    """`apply(window, inputs)`"""

    PROCESS = auto()
    """`process(key, context, elements)`"""

    PROCESS_ALL = auto()
    """`process(context, elements)`"""

    CO_GROUP = auto()
    """`co_group(first, second)`"""


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """One window operation.

    Attributes:
        assigner: A `WindowAssigner` of the API.
        trigger: A `Trigger` of the API.
        fold_function: For REDUCE: (value, value) to value, or an object with `reduce`; for
            AGGREGATE: an object with `create_accumulator`, `add`, `get_result` and `merge`.
        evaluation: The method that is called when a window fires.
        function: The function with that method.
        evictor: Removes records from a window before or after the function, if any.
        allowed_lateness: Milliseconds after its end at which a window is removed.
        late_tag: Id of the output tag that late records go to, None if they are dropped.
        kept_type: Type of the contents: of a record, or of an accumulator.
        panes: The shape of windows at regular distances that fire at their end, without a trigger or
            evictor of the user's; None for other windows.
        session_gap_ms: The gap of sessions that fire at their end, the same for all records, without a
            trigger or evictor of the user's; None for other windows.
        end_of_stream: The only window, if it fires at the end of the input and no evictor needs its
            contents in state; else None.
        merges_neighbours: The assigner merges windows that overlap or touch, as
            `TimeWindow.merge_windows` does.
        is_merging: The assigner merges windows.
        second_type: For TWO_LISTS: type of the records of the second input; `element_type` and
            `kept_type` are those of the first.
        ends_behind_records: A window ends after the timestamps of all its records, and does not
            fire before its end.
        fires_only_at_end: The only window fires at the end of the input, with or without an evictor.
        is_of_all: The windows are those of `window_all`: all records have one key.
        results: For aggregates of columns: the function that makes results of the parts of a window that fires.
        bounds: The windows, if `results` reads their bounds beside that.
    """

    assigner: Any
    trigger: Any
    contents: WindowContents
    fold_function: Any
    evaluation: Evaluation
    function: Any
    evictor: Any
    allowed_lateness: int
    late_tag: str | None
    element_type: TypeInformation
    kept_type: TypeInformation
    panes: RegularWindows | None = None
    session_gap_ms: int | None = None
    end_of_stream: Window | None = None
    merges_neighbours: bool = False
    is_merging: bool = False
    second_type: TypeInformation | None = None
    ends_behind_records: bool = False
    fires_only_at_end: bool = False
    is_of_all: bool = False
    results: ExpressionChain | None = None
    bounds: RegularWindows | None = None

"""What a window operation is, as a frozen value that the API writes and the runtime reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from penstock.program.windows import Window
from penstock.types.information import TypeInformation


class WindowContents(Enum):
    """What is kept of the records of a window."""

    LIST = auto()
    """All of them."""

    REDUCE = auto()
    """Their combination."""

    AGGREGATE = auto()
    """An accumulator."""

    TWO_LISTS = auto()
    """All of them, those of two inputs apart."""


class Evaluation(Enum):
    """What is called when a window fires."""

    NONE = auto()
    """Nothing: what was kept is the result."""

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
class PaneShape:
    """Windows of one length at regular distances, whose records may be kept per pane.

    Attributes:
        size: Length of a window in milliseconds.
        slide: Distance of the starts of two windows.
        offset: Start of some window.
    """

    size: int
    slide: int
    offset: int


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """One window operation.

    Attributes:
        assigner: A `WindowAssigner` of the API.
        trigger: A `Trigger` of the API.
        contents: What is kept of the records.
        fold_function: Of REDUCE: (value, value) to value, or an object with `reduce`; of
            AGGREGATE: an object with `create_accumulator`, `add`, `get_result` and `merge`.
        evaluation: What is called when a window fires.
        function: What it is called on.
        evictor: Removes records from a window before or after the function, if any.
        allowed_lateness: Milliseconds for which a window is kept after its end.
        late_tag: Id of the output tag that late records go to, None if they are dropped.
        element_type: Type of the records.
        kept_type: Type of what is kept: of a record, or of an accumulator.
        panes: The shape of the windows if they fire when their time has come, and no trigger
            or evictor of the user's has a say.
        end_of_stream: The only window, if there is one that fires at the end of the input.
        merges_neighbours: The assigner merges windows that overlap or touch, as
            `TimeWindow.merge_windows` does.
        is_merging: The assigner merges windows.
        second_type: Of TWO_LISTS: type of the records of the second input; `element_type` and
            `kept_type` are those of the first.
        ends_behind_records: A window ends after the time of each of its records, and fires when
            it has ended and not before.
        is_of_all: The windows are those of the whole stream: all records have one key.
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
    panes: PaneShape | None = None
    end_of_stream: Window | None = None
    merges_neighbours: bool = False
    is_merging: bool = False
    second_type: TypeInformation | None = None
    ends_behind_records: bool = False
    is_of_all: bool = False

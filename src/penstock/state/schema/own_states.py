"""Names of the states that operators themselves use, not their functions."""

from __future__ import annotations

REDUCE_AGGREGATE = "reduce"
"""Accumulators of `reduce` and the aggregations."""

VALUES_PREFIX = "_values/"
"""Prefix of the names of the states of tallies that are kept value by value."""

WINDOW_CONTENTS = "_window_contents"
"""Records or accumulators of windows; of the first input, if there are two."""

WINDOW_SECOND_CONTENTS = "_window_contents_2"
"""Records of the second input."""

WINDOW_MERGES = "_window_merges"
"""Window to its state window, of merging windows."""

WINDOW_TRIGGER_PREFIX = "_window_trigger/"
"""Prefix of the names of a trigger's states."""

WINDOW_FUNCTION_PREFIX = "_window_function/"
"""Prefix of the names of a window function's states per window."""

EVENT_TIMERS = "_event_time_timers"
PROCESSING_TIMERS = "_processing_time_timers"
"""Timers by key; of a window operator by key and window."""

INTERVAL_BUFFERS = (
    "_interval_left",
    "_interval_right",
    "_interval_left_ends",
    "_interval_right_ends",
)
"""Records of both inputs of an interval join, and timers that remove them."""

_DESCRIPTIONS = {
    REDUCE_AGGREGATE: "the aggregates",
    WINDOW_CONTENTS: "the contents of windows",
    WINDOW_SECOND_CONTENTS: "the contents of windows",
    WINDOW_MERGES: "the merged windows",
    **dict.fromkeys(INTERVAL_BUFFERS, "the records to join"),
}
_PREFIXES = {
    VALUES_PREFIX: "the counts of",
    WINDOW_TRIGGER_PREFIX: "trigger state",
    WINDOW_FUNCTION_PREFIX: "state per window",
}


BY_WINDOW = frozenset({WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS, EVENT_TIMERS, PROCESSING_TIMERS})
"""States of a window operator whose keys are (key, window), of those with a fixed name."""


def is_by_window(state: str) -> bool:
    """Return whether the keys of a state of a window operator are pairs of a key and a window or pane."""
    return state in BY_WINDOW or state.startswith(tuple(_PREFIXES))


def described(state: str) -> str:
    """Return the name of a state for people instead of the internal one.

    Examples:
        >>> described("total")
        "state 'total'"
        >>> described(WINDOW_CONTENTS)
        'the contents of windows'
        >>> described("_window_trigger/count")
        "trigger state 'count'"
    """
    for prefix, words in _PREFIXES.items():
        if state.startswith(prefix):
            return f"{words} {state.removeprefix(prefix)!r}"
    return _DESCRIPTIONS.get(state) or f"state {state!r}"

"""Names of the states that operators themselves use, not their functions."""

from __future__ import annotations

REDUCE_AGGREGATE = "reduce"
"""Accumulators of `reduce` and the aggregations."""

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

INTERVAL_BUFFERS = (
    "_interval_left",
    "_interval_right",
    "_interval_left_ends",
    "_interval_right_ends",
)
"""Records of both inputs of an interval join, and timers that remove them."""

"""Names of states under which operators keep something of their own."""

from __future__ import annotations

REDUCE_AGGREGATE = "reduce"
"""What `reduce` and the aggregations have so far."""

WINDOW_CONTENTS = "_window_contents"
"""Records or aggregates of windows; of the first input, if there are two."""

WINDOW_SECOND_CONTENTS = "_window_contents_2"
"""Records of the second input."""

WINDOW_MERGES = "_window_merges"
"""Which windows were merged into which."""

WINDOW_TRIGGER_PREFIX = "_window_trigger/"
"""Before the names of states of a trigger."""

WINDOW_FUNCTION_PREFIX = "_window_function/"
"""Before the names of states of a window function that are kept per window."""

INTERVAL_BUFFERS = (
    "_interval_left",
    "_interval_right",
    "_interval_left_ends",
    "_interval_right_ends",
)
"""Records of both inputs of an interval join, and until when they are kept."""

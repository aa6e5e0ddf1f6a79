"""The stream of parts of aggregates, by key: what `aggregate` of keyed streams and of windows reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.expressions.steps import ExpressionChain
from penstock.program.operators import KEY_BY
from penstock.types.row import Row

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.stream_base import StreamBase


def key_selector_of(stream: StreamBase[Any]) -> Any:
    """Return the key selector of a keyed stream."""
    return stream._graph.node(stream._node_id).key_selector  # noqa: SLF001


def keyed_parts(
    stream: StreamBase[Any], chain: ExpressionChain, key_selector: Any
) -> DataStream[Row]:
    """Return what a selection of parts makes of the records of a keyed stream, by their key.

    Args:
        stream: The stream.
        chain: The selection.
        key_selector: Row of parts to key.
    """
    # a key is no operator, so the selection is behind the one before
    source = stream._environment.stream_of(stream._unkeyed_id())  # noqa: SLF001
    parts = source._evaluate(chain, "parts of aggregates")  # noqa: SLF001
    return parts._add(  # noqa: SLF001
        KEY_BY, "key_by", (parts.node_id,), parts.get_type(), key_selector=key_selector
    )

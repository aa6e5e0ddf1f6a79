"""The records that Spark has read of sources of which Spark SQL leaves fewer rows: by conditions, aggregates or whole queries.

A task counts the records that it makes. What Spark drops or merges before is known to Spark only, as the metric of the nodes of
its plan that read:

    sinks, levels: MapInArrow … ── Union ─┬─ MapInArrow ── aggregate ── scan 60,000,000 rows      part 0 of the union
                                          └─ MapInArrow ── scan of ranges                         part 1
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame

from penstock.spark.sources.line_reads import LINES_NAMES

_logger = logging.getLogger("penstock")

_CALL = "MapInArrow"
_ROWS = "numOutputRows"
_ROWS_OF_CALL = "pythonNumRowsReceived"
_INNER = {
    "AdaptiveSparkPlan": "executedPlan",
    "ShuffleQueryStage": "plan",
    "BroadcastQueryStage": "plan",
    "TableCacheQueryStage": "plan",
    "ResultQueryStage": "plan",
}
"""Names of nodes without children to the method that returns the plan they stand for."""


def scanned_records(
    messages: DataFrame, sources: Sequence[int | None], depth: int
) -> dict[int, int]:
    """Return source to the rows that Spark has read of it.

    What Spark reads twice, because a stage is repeated, counts twice. A source is left out if a node that reads it does not count.
    """
    if not any(source is not None for source in sources):
        return {}
    parts = list(_calls(_executed(messages), depth))
    if len(parts) != len(sources):
        _logger.warning("what Spark has read of sources is not known: its plan has an unknown form")
        return {}
    found: dict[int, int] = {}
    for source, part in zip(sources, parts, strict=True):
        if source is None:
            continue
        counts = list(_counts(part))
        if None not in counts:
            found[source] = found.get(source, 0) + sum(filter(None, counts))
    return found


def _executed(messages: DataFrame) -> Any:
    plan: Any = messages._jdf.queryExecution().executedPlan()  # noqa: SLF001
    return plan


def _calls(node: Any, depth: int) -> Iterator[Any]:
    """Yield the calls of Python at a depth, from left to right."""
    left = depth - (node.nodeName() == _CALL)
    if left == 0:
        yield node
        return
    for child in _children(node):
        yield from _calls(child, left)


def _counts(part: Any) -> Iterator[int | None]:
    """Yield how many records the nodes of a plan have read. Each step is a call to the JVM."""
    for child in _children(part):
        if child.nodeName() == _CALL and _reads_lines(child):
            yield _metric(child, _ROWS_OF_CALL)
        elif child.children().isEmpty() and child.nodeName() not in _INNER:
            yield _metric(child, _ROWS)
        else:
            yield from _counts(child)


def _reads_lines(call: Any) -> bool:
    given = call.child().output()
    return [given.apply(at).name() for at in range(given.size())] == LINES_NAMES


def _children(node: Any) -> list[Any]:
    inner = _INNER.get(node.nodeName())
    if inner is not None:
        return [getattr(node, inner)()]
    children = node.children()
    return [children.apply(at) for at in range(children.size())]


def _metric(node: Any, name: str) -> int | None:
    metric = node.metrics().get(name)
    return int(metric.get().value()) if metric.isDefined() else None

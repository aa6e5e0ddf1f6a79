"""Results of process functions: `(OutputTag, value)` goes to a side output, others to the main output."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from penstock.runtime.flow.output import Output, TaggedOutput
from penstock.types.output_tag import OutputTag

Batch = tuple[list[Any], list[int] | None]
"""(values, timestamps)."""


_PAIR = 2


def is_tagged(result: Any) -> bool:
    """Return whether a result names a side output."""
    return type(result) is tuple and len(result) == _PAIR and isinstance(result[0], OutputTag)


def split_tagged(results: list[Any], stamps: list[int] | None) -> tuple[Batch, dict[str, Batch]]:
    """Return the results of the main output, and those of side outputs by tag.

    Values of a tag without readers are dropped; they never reach the main output.
    """
    tagged = _tagged(results)
    if not tagged:
        return (results, stamps), {}
    sides: dict[str, tuple[list[Any], list[int]]] = defaultdict(lambda: ([], []))
    for at in tagged:
        tag, value = results[at]
        values, side_stamps = sides[tag.tag_id]
        values.append(value)
        if stamps is not None:
            side_stamps.append(stamps[at])
    aside = set(tagged)
    main = [result for at, result in enumerate(results) if at not in aside]
    main_stamps = None
    if stamps is not None:
        main_stamps = [stamp for at, stamp in enumerate(stamps) if at not in aside]
    return (main, main_stamps), {
        tag: (values, None if stamps is None else side_stamps)
        for tag, (values, side_stamps) in sides.items()
    }


def _tagged(results: list[Any]) -> list[int]:
    """Return the positions of tagged results."""
    kinds = set(map(type, results))
    if tuple not in kinds or (len(kinds) == 1 and _PAIR not in set(map(len, results))):
        return []  # the usual case; checking each of them would cost five times as much
    return [at for at, result in enumerate(results) if is_tagged(result)]


def sides_of(output: Output) -> Mapping[str, Output]:
    """Return the side outputs of an operator by tag."""
    return output.sides if isinstance(output, TaggedOutput) else {}


def send_sides(sides: Mapping[str, Output], batches: dict[str, Batch]) -> None:
    """Send values to the side outputs."""
    for tag, (values, stamps) in batches.items():
        output = sides.get(tag)
        if output is not None:
            output.collect(values, stamps)

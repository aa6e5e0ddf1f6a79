"""Exceptions of the law that depend on the records, and the input without them.

Two ways may part on records out of order of time, and on equal numbers of several forms. The law holds if they do not
part on the same records in order of time, each number in one form: such a control needs no rule per operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Number
from typing import Any

from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import SOURCE
from penstock.testing.law.event_time import event_time
from penstock.testing.law.record_parts import parts_of, with_parts
from penstock.testing.law.samples import Inputs, Sample
from penstock.types import PickledBytesTypeInfo, TypeInformation


def without_exceptions(graph: LogicalGraph, inputs: Inputs) -> tuple[Inputs, tuple[str, ...]]:
    """Return the records without exceptions, and the exceptions that they have, in words; the inputs themselves if none.

    Args:
        graph: The program.
        inputs: Records of its sources.
    """
    plain, found = inputs, []
    for exception, change in _CHANGES.items():
        changed = {node.id: change(graph, node, plain[node.id]) for node in graph.of_kind(SOURCE)}
        if any(changed[source] is not sample for source, sample in plain.items()):
            plain = changed
            found.append(exception)
    return plain, tuple(found)


def is_undeclared(type_info: TypeInformation) -> bool:
    """Return whether records may have numbers of any class: neither a type nor an annotation describes them."""
    return type(type_info) is PickledBytesTypeInfo


def _in_order(graph: LogicalGraph, node: Node, sample: Sample) -> Sample:
    time = event_time(graph, node)
    return sample if time is None else time.in_order(sample)


def _in_one_form(graph: LogicalGraph, node: Node, sample: Sample) -> Sample:
    """Return records in which equal numbers of one place are of the class of the first one."""
    del graph
    if not is_undeclared(node.type_info):
        return sample
    known: dict[tuple[Any, Any], Any] = {}
    changed = []
    for element in sample:
        other = {}
        for place, value in parts_of(element.value).items():
            if isinstance(value, Number):
                first = known.setdefault((place, value), value)
                if type(first) is not type(value):
                    other[place] = first
        changed.append(
            replace(element, value=with_parts(element.value, other)) if other else element
        )
    are_same = all(one is other for one, other in zip(sample, changed, strict=True))
    return sample if are_same else tuple(changed)


_CHANGES: Mapping[str, Callable[[LogicalGraph, Node, Sample], Sample]] = {
    "records out of order of time: a batch run reads each key in order of time, and in a live run "
    "late records depend on the watermark": _in_order,
    "the form of equal numbers, as 1 and 1.0, which a declared type makes one": _in_one_form,
}
"""Exception to the change that takes it away."""

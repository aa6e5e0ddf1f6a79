"""Phase: refuses functions that read a field that their records lack. It comes early.

The phase checks only functions that do nothing but read one field, as key selectors do. Other functions
fail at run time, and the error of the row suggests the right name.
"""

from __future__ import annotations

from penstock.errors import ArgumentError, did_you_mean
from penstock.graph.logical import Node
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import FILTER, KEY_BY, MAP
from penstock.program.selected_field import missing_field
from penstock.types import RowTypeInfo

_READERS = frozenset({KEY_BY, MAP, FILTER})


def check_fields(plan: PhysicalPlan) -> PhysicalPlan:
    """Refuse a key selector, `map` or `filter` that only reads a field that no record has.

    Raises:
        ArgumentError: There is such a function; the error names the field.
    """
    for kind in _READERS:
        for node in plan.graph.of_kind(kind):
            _check(plan, node)
    return plan


def _check(plan: PhysicalPlan, node: Node) -> None:
    records = plan.graph.node(node.inputs[0]).type_info
    function = node.key_selector if node.kind == KEY_BY else node.function
    if function is None or not isinstance(records, RowTypeInfo):
        return
    names = records.field_names
    field = missing_field(function, names)
    if field is not None:
        raise ArgumentError(
            f"{node.name!r} reads the field {field!r}, which its records do not have"
            f"{did_you_mean(field, names)}",
            hint=f"Use one of {', '.join(names)}.",
            origin=node.origin,
        )

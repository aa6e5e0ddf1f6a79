"""Phase: refuses key selectors whose results can never be keys, before a record is read.

The phase knows the results of a selector that only reads a field of records with a declared type, and of
a selector that is a class. `key_by` itself checks its declared type. Annotations are ignored: they may
be wrong, and a wrong annotation must not stop a program.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import EnumMeta
from types import FunctionType
from typing import Any

from penstock.errors import KeyTypeError
from penstock.graph.logical import Node
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import KEY_BY
from penstock.program.selected_field import field_position
from penstock.types import RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.key_types import no_key_in
from penstock.types.list_key import CHANGED_HINT
from penstock.wire.canonical.key_classes import hint_for, key_class

_CALLS = (type.__call__, EnumMeta.__call__)
_BY_VALUE = (list, type(None))
"""Classes of keys that `key_class` does not know: lists become tuples first."""


def check_keys(plan: PhysicalPlan) -> PhysicalPlan:
    """Refuse a key selector whose results cannot be keys.

    Raises:
        KeyTypeError: There is such a selector; the error names the class, or the field and its type.
    """
    for node in plan.graph.of_kind(KEY_BY):
        if node.key_selector is not None:
            _check_class(node, node.key_selector)
            _check_field(node, node.key_selector, plan.graph.node(node.inputs[0]).type_info)
    return plan


def _check_class(node: Node, selector: Any) -> None:
    if not isinstance(selector, type) or selector in _BY_VALUE or not _makes_instances(selector):
        return
    reason = key_class(selector)
    if isinstance(reason, str):
        raise KeyTypeError(
            f"instances of {selector.__name__} cannot be keys: {reason}",
            hint=CHANGED_HINT if selector.__hash__ is None else hint_for(reason),
            origin=node.origin,
        )


def _makes_instances(cls: type) -> bool:
    """Return whether a call of the class returns an instance of it; `__new__` may return anything.

    The `__new__` of `Enum` returns members, which are instances.
    """
    made_by = next(vars(base)["__new__"] for base in cls.__mro__ if "__new__" in vars(base))
    made_by = getattr(made_by, "__func__", made_by)
    known = isinstance(cls, EnumMeta) or not isinstance(made_by, FunctionType)
    return known and type(cls).__call__ in _CALLS


def _check_field(
    node: Node, selector: Callable[[Any], Any], records: TypeInformation | None
) -> None:
    if not isinstance(records, (RowTypeInfo, TupleTypeInfo)):
        return
    position = field_position(selector, records.field_names)
    if position is None:
        return
    name, declared = records.field_names[position], records.field_types[position]
    part = no_key_in(declared)
    if part is not None:
        raise KeyTypeError(
            f"the field {name!r} of type {declared!r} cannot be a key: values of {part!r} can be "
            "changed",
            hint=CHANGED_HINT,
            origin=node.origin,
        )

"""The types of what windows store, and what tells parts of aggregates in it from columns of the key."""

from __future__ import annotations

from collections.abc import Callable

from penstock.expressions.aggregates import is_name_of_part
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.program.level import OperatorSpec
from penstock.types import TypeInformation, Types
from penstock.types.description import has_serializers


def stored_type(spec: OperatorSpec, declared: TypeInformation) -> TypeInformation:
    """Return the type of stored values: any object if they need no coercion, and their type is not compared."""
    is_declared = is_part_of(spec) is not None or declared.need_conversion()
    return declared if is_declared else Types.PICKLED_BYTE_ARRAY()


def stamped_type(spec: OperatorSpec) -> TypeInformation:
    """Return the type of what windows with an evictor store: any object, or a time and what has a stored form."""
    assert spec.window is not None
    kept = spec.window.kept_type
    if is_part_of(spec) is None and not has_serializers(kept):
        return Types.PICKLED_BYTE_ARRAY()
    return Types.TUPLE([Types.LONG(), kept])


def is_part_of(spec: OperatorSpec) -> Callable[[str], bool] | None:
    """Return `StateSchema.is_part` of the contents of an operator's windows."""
    return is_name_of_part if isinstance(spec.function, KeyedAggregate) else None

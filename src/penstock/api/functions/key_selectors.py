"""Keys of a declared type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.api.user_code import checked_type
from penstock.errors import KeyTypeError
from penstock.types import TypeInformation
from penstock.types.key_types import no_key_in
from penstock.types.list_key import CHANGED_HINT


@dataclass(frozen=True, slots=True)
class TypedKeySelector:
    """Brings the keys of a selector to a declared type.

    Attributes:
        select: Value to key.
        key_type: What keys are brought to.
    """

    select: Callable[[Any], Any]
    key_type: TypeInformation

    def __call__(self, value: Any) -> Any:
        """Return the key of `value` in the declared form.

        Raises:
            KeyTypeError: The key does not fit the type.
        """
        key = self.select(value)
        try:
            return self.key_type.coerce(key)
        except ValueError as refused:
            raise KeyTypeError(
                f"the key {key!r} is not of its declared type {self.key_type!r}: {refused}",
                hint="Correct the key selector, or the key_type.",
            ) from refused


def typed_selector(
    select: Callable[[Any], Any], key_type: TypeInformation | None, operation: str
) -> Callable[[Any], Any]:
    """Return a selector whose keys have the declared type; `select` itself if there is none.

    Raises:
        ArgumentError: `key_type` is no type.
        KeyTypeError: Its values cannot be keys.
    """
    declared = checked_type(key_type, operation)
    if not declared.need_conversion():
        return select
    part = no_key_in(declared)
    if part is not None:
        raise KeyTypeError.here(
            f"{operation} got the key type {declared!r}: values of {part!r} can be changed, so they "
            "cannot be keys",
            hint=CHANGED_HINT,
        )
    return TypedKeySelector(select, declared)

"""Storage by user functions of records that they have returned: they may keep them, or use them again.

FLIP-329 gives plain functions the default "stores nothing" and rich ones "may store", and contradicts
itself on the first (heading and listing). Here a function is believed that says so, by
`is_output_value_stored`; of every other one readers get copies of what can be changed, unless the
declared or annotated type says that nobody can. Code is not looked into: a value may be kept behind
any attribute of a module, a class or a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import UserCodeError
from penstock.program.operator_kind import PROMISE


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """The answer for one function.

    Attributes:
        is_stored: It may keep or use again what it has returned.
        reason: Why, to complete "because …".
    """

    is_stored: bool
    reason: str


# FLIP-329, rule 2.
def stored_output(function: Any) -> StoredOutput:
    """Return whether a user function stores what it returned, or returns what it stores.

    Args:
        function: The function or object.

    Raises:
        UserCodeError: Its `is_output_value_stored` does not return a bool.
    """
    if isinstance(function, type) or not hasattr(function, PROMISE):
        return StoredOutput(
            is_stored=True, reason="a function without a promise may keep what it has returned"
        )
    answer = getattr(function, PROMISE)()
    name = getattr(function, "__name__", type(function).__name__)
    if not isinstance(answer, bool):
        raise UserCodeError(
            f"{PROMISE} of {name} returned {answer!r}",
            hint="Return True if the function may use values again that it has emitted, else "
            "False.",
        )
    return StoredOutput(is_stored=answer, reason=f"{PROMISE} of {name} is {answer}")

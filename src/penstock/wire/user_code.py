"""Shipping user functions to workers.

Functions and classes of the user's script live in `__main__`, which a worker does not have,
so cloudpickle carries them by value. Their *instances*, however, travel in frames pickled by
reference. `dump` therefore carries the script's classes along, and `load` puts them into the
worker's own `__main__`; from then on plain pickle finds them.
"""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import cloudpickle

from penstock.errors import CallSite, UserCodeError
from penstock.user_failure import raise_interrupt, words_of


def dump(obj: Any, what: str = "the program", origin: CallSite | None = None) -> bytes:
    """Pickle `obj` with everything of the user's script it needs.

    Args:
        obj: What to pickle.
        what: Its name in an error.
        origin: The user's line, for an error.

    Raises:
        UserCodeError: Something `obj` refers to cannot be pickled.
    """
    try:
        pickled: bytes = cloudpickle.dumps((_script_classes(), obj))
    except BaseException as cause:  # whatever a user's __reduce__ raises
        raise_interrupt(cause)
        raise UserCodeError(
            f"{what} cannot be shipped to the workers: {words_of(cause)}",
            hint="Create connections, locks and files in open(), not in the constructor or "
            "as a global that a function uses.",
            origin=origin,
        ) from cause
    return pickled


def load(data: bytes) -> Any:
    """Return what `dump` was given."""
    classes, obj = pickle.loads(data)
    main = sys.modules["__main__"]
    for name, cls in classes.items():
        if getattr(main, name, None) is not cls:
            setattr(main, name, cls)
    return obj


def _script_classes() -> dict[str, type]:
    """Return the classes defined in the user's script that can be pickled.

    One that cannot is left out here; if a record is made of it, pickling that record in the
    worker fails with the class's name.
    """
    found: dict[str, type] = {}
    for name, value in list(vars(sys.modules["__main__"]).items()):
        if isinstance(value, type) and value.__module__ == "__main__":
            try:
                cloudpickle.dump(value, io.BytesIO())
            except Exception:  # noqa: BLE001, S112 - decided per class, see the docstring
                continue
            found[name] = value
    return found

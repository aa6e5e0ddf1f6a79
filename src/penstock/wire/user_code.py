"""Pickling of user functions for workers.

Functions and classes of the user's script are in `__main__`, which a worker does not have, so
cloudpickle pickles them by value. Frames, however, pickle *instances* by reference. Therefore `dump`
includes the script's classes, and `load` adds them to the worker's `__main__`, where plain pickle
finds them.
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
    """Pickle `obj` with the classes of the user's script."""
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
    """Return the object that `dump` pickled."""
    classes, obj = pickle.loads(data)
    main = sys.modules["__main__"]
    for name, cls in classes.items():
        if getattr(main, name, None) is not cls:
            setattr(main, name, cls)
    return obj


def _script_classes() -> dict[str, type]:
    """Return the classes defined in the user's script that can be pickled.

    It omits classes that cannot be pickled. If a record is an instance of one, pickling the record
    in the worker fails with the name of the class.
    """
    classes: dict[str, type] = {}
    for name, value in list(vars(sys.modules["__main__"]).items()):
        if isinstance(value, type) and value.__module__ == "__main__":
            try:
                cloudpickle.dump(value, io.BytesIO())
            except Exception:  # noqa: BLE001, S112 - decided per class, see the docstring
                continue
            classes[name] = value
    return classes

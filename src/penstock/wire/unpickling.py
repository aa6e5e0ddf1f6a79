"""Records as they were pickled: what their own classes refuse is told apart from damaged bytes."""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any

from penstock.errors import DecodeError, PenstockError
from penstock.user_failure import failure_as, has_user_frame, raise_interrupt

_OF_DAMAGE = (pickle.UnpicklingError, EOFError, struct.error, UnicodeDecodeError, MemoryError)
"""Exceptions of `pickle` about bytes that are missing or wrong."""


def unpickled(data: bytes | memoryview) -> Any:
    """Return the object that was pickled.

    Raises:
        DecodeError: A class of the records refuses what it has pickled itself; the error names the class.
        StateError: A serializer of the program failed.
        Exception: The bytes are damaged.
    """
    try:
        return pickle.loads(data)
    except (*_OF_DAMAGE, PenstockError):  # the latter of a serializer of the program
        raise
    except BaseException as cause:
        raise_interrupt(cause)
        name = _last_class(data)
        if name is None and not has_user_frame(cause):
            raise
        what = "a record" if name is None else f"a record with an object of class {name}"
        raise failure_as(
            DecodeError,
            f"{what} was pickled and cannot be unpickled",
            cause,
            None,
            hint="Correct how the class is pickled (__reduce__, __getstate__ and __setstate__; of an exception with arguments of its own, "
            "__reduce__), and try pickle.loads(pickle.dumps(record)).",
        ).permanent() from cause


class _Names(pickle.Unpickler):
    """Remembers the last class or function by name; slower than `pickle.loads`."""

    last: str | None = None

    def find_class(self, module: str, name: str) -> Any:
        self.last = name if module == "__main__" else f"{module}.{name}"
        return super().find_class(module, name)


def _last_class(data: bytes | memoryview) -> str | None:
    """Return the name of the class at which unpickling fails."""
    names = _Names(io.BytesIO(data))
    try:
        names.load()
    except BaseException as cause:  # noqa: BLE001 - the first failure is raised
        raise_interrupt(cause)
    return names.last

"""`TypeSerializer`: what PyFlink asks the window assigners of a program for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic

from penstock.types.type_parameters import T


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type, and reads them back.

    Penstock writes windows, state and records its own way and calls none of these. The class is
    here so that assigners that return one, and the annotations that name it, need no change.
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write `element`."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Return the element that is next in `stream`."""

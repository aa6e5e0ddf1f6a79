"""The names of `pyflink.common.serializer`."""

from __future__ import annotations

from penstock.program.type_serializer import TypeSerializer

__all__ = ["TypeSerializer"]

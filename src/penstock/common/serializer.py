"""The names of `pyflink.common.serializer`."""

from penstock.program.type_serializer import TypeSerializer

__all__ = ["TypeSerializer"]

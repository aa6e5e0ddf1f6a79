"""The names of `pyflink.common.serializer`."""

from penstock.types.type_serializer import TypeSerializer

__all__ = ["TypeSerializer"]

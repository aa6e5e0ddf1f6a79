"""The names of `pyflink.common.serializer`."""

from penstock.types.value_serializer import TypeSerializer

__all__ = ["TypeSerializer"]

"""The names of `pyflink.common.types`."""

from penstock.types import Row, RowKind

__all__ = ["Row", "RowKind"]

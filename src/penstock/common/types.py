"""The names of `pyflink.common.types`."""

from __future__ import annotations

from penstock.types import Row, RowKind

__all__ = ["Row", "RowKind"]

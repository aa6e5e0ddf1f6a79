"""The names of `pyflink.common.typeinfo`."""

from __future__ import annotations

from penstock.types import TypeInformation, Types

__all__ = ["TypeInformation", "Types"]

"""The names of `pyflink.datastream.output_tag`."""

from __future__ import annotations

from penstock.types.output_tag import OutputTag

__all__ = ["OutputTag"]

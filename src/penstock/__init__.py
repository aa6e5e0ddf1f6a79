"""Penstock: PyFlink-style DataStream programs on Apache Spark.

One program reads history at batch speed, switches, and goes on live with the same state.
"""

from __future__ import annotations

from penstock.version import __version__

__all__ = ["__version__"]

"""The names of `pyflink.common.configuration`."""

from __future__ import annotations

from penstock.config.configuration import Configuration

__all__ = ["Configuration"]

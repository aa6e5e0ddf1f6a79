"""The names of `pyflink.common.configuration`."""

from penstock.config.configuration import Configuration

__all__ = ["Configuration"]

"""The names of `pyflink.common.constants`: the limits of timestamps."""

__all__ = ["MAX_LONG_VALUE", "MIN_LONG_VALUE"]

MAX_LONG_VALUE = 2**63 - 1
"""The watermark after the end of a bounded input."""

MIN_LONG_VALUE = -(2**63)
"""The watermark before the first one, and the timestamp of a record that has none."""

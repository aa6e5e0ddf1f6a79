"""Names a custom assigner of PyFlink returns from `get_window_serializer`.

Penstock stores windows itself and never asks for them.
"""

from __future__ import annotations


class TimeWindowSerializer:
    """Accepted, for PyFlink's sake."""


class CountWindowSerializer:
    """Accepted, for PyFlink's sake."""


class GlobalWindowSerializer:
    """Accepted, for PyFlink's sake."""

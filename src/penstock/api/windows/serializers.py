"""Serializers that a custom assigner of PyFlink returns from `get_window_serializer`.

Penstock stores windows itself and never calls them.
"""

from __future__ import annotations


class TimeWindowSerializer:
    """Has no effect. PyFlink has the class.

    Example:
        >>> class Days(WindowAssigner):
        ...     def get_window_serializer(self):
        ...         return TimeWindowSerializer()
    """


class CountWindowSerializer:
    """Has no effect. PyFlink has the class.

    Example:
        >>> class Halves(WindowAssigner):
        ...     def get_window_serializer(self):
        ...         return CountWindowSerializer()
    """


class GlobalWindowSerializer:
    """Has no effect. PyFlink has the class.

    Example:
        >>> class Everything(WindowAssigner):
        ...     def get_window_serializer(self):
        ...         return GlobalWindowSerializer()
    """

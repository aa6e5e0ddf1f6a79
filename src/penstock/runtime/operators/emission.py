"""What functions return, and how it becomes results.

| method of the function                     | result                              |
|--------------------------------------------|-------------------------------------|
| `map1`, `map2`                             | one result; None is none            |
| `flat_map1`, `flat_map2`                   | an iterable; None and empty are none |
| `process_element…`, `on_timer`, broadcasts | an iterable or None                 |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Results = Callable[[Any], Iterable[Any]]
"""What a call returned to its results."""


def one_or_none(returned: Any) -> Iterable[Any]:
    """Return the result of a map as an iterable."""
    return () if returned is None else (returned,)


def many_or_none(returned: Any) -> Iterable[Any]:
    """Return the results of a function that returns an iterable or None."""
    return () if returned is None else returned

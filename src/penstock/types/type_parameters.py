"""Type parameters of the generic classes.

Each has `Any` as its default, so that `DataStream` without parameters means `DataStream[Any]`:
programs without type parameters pass `mypy --strict` too. Python 3.11 has no defaults of type
parameters, so they exist for type checkers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
    R = TypeVar("R", default=Any)
    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
    T1 = TypeVar("T1", default=Any)
    T2 = TypeVar("T2", default=Any)
    T_co = TypeVar("T_co", default=Any, covariant=True)
    IN = TypeVar("IN", default=Any)
    IN_contra = TypeVar("IN_contra", default=Any, contravariant=True)
    IN1 = TypeVar("IN1", default=Any)
    IN2 = TypeVar("IN2", default=Any)
    OUT = TypeVar("OUT", default=Any)
    OUT_co = TypeVar("OUT_co", default=Any, covariant=True)
    ACC = TypeVar("ACC", default=Any)
    W = TypeVar("W", default=Any)
    W2 = TypeVar("W2", default=Any)
    W_co = TypeVar("W_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T")
    """Records of a stream, or values of a type."""
    R = TypeVar("R")
    """Results of an operation."""
    K = TypeVar("K")
    """Keys."""
    V = TypeVar("V")
    """Values of a map."""
    T1 = TypeVar("T1")
    """Records of the first of two connected streams."""
    T2 = TypeVar("T2")
    """Records of the second."""
    T_co = TypeVar("T_co", covariant=True)
    """Values that are only returned."""
    IN = TypeVar("IN")
    """Inputs of a function."""
    IN_contra = TypeVar("IN_contra", contravariant=True)
    """The same in protocols."""
    IN1 = TypeVar("IN1")
    """First inputs of a function."""
    IN2 = TypeVar("IN2")
    """Second inputs of a function."""
    OUT = TypeVar("OUT")
    """Results of a function."""
    OUT_co = TypeVar("OUT_co", covariant=True)
    """The same in protocols."""
    ACC = TypeVar("ACC")
    """Accumulators."""
    W = TypeVar("W")
    """Windows."""
    W2 = TypeVar("W2")
    """Windows, in a class inside one that has windows of its own."""
    W_co = TypeVar("W_co", covariant=True)
    """Windows that are only given out."""

"""The Hypothesis strategy of records of a declared type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from penstock.extras import Extra
from penstock.testing.values import Choices, maker_of
from penstock.types import RowKind, TypeInformation

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

HYPOTHESIS = Extra(
    "hypothesis",
    ("hypothesis>=6.100",),
    "hypothesis",
    "records_of",
    "[Records of a type](testing.md#records-of-a-type)",
    is_connector=False,
)
"""No extra of the distribution: who writes such a test has Hypothesis for `given`."""


def records_of(
    type_information: TypeInformation,
    *,
    nulls: bool = True,
    nan: bool = True,
    row_kinds: Sequence[RowKind] = (RowKind.INSERT,),
) -> SearchStrategy[Any]:
    """Return the Hypothesis strategy of the records of a type, in its declared form.

    Numbers and times come from their whole range, and often from its ends; floats include -0.0 and infinity.
    Decimals have the precision and scale of their type, and times whole microseconds, so that columns hold every value.

    Args:
        type_information: The type, such as `Types.ROW_NAMED(...)`.
        nulls: Whether fields of rows, elements of lists and values of maps may be None.
        nan: Whether floats may be NaN, which is unequal to itself.
        row_kinds: Kinds of rows.

    Returns:
        A strategy for `given`.

    Raises:
        EnvironmentSetupError: Hypothesis is not installed.
        ArgumentError: It is a type of your own, or contains one.

    Example:
        >>> from hypothesis import find
        >>> orders = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])
        >>> find(records_of(orders, nulls=False), lambda order: order.size > 6)
        Row(name='', size=7)
    """
    st = HYPOTHESIS.load("hypothesis.strategies")
    make = maker_of(type_information)
    strategy: SearchStrategy[Any] = st.composite(
        lambda draw: make(_Drawn(draw, row_kinds, nulls=nulls, nan=nan))
    )()
    return strategy


class _Drawn(Choices):
    """The choices of Hypothesis, which shrink to simple values."""

    def __init__(
        self, draw: DrawFn, row_kinds: Sequence[RowKind], *, nulls: bool, nan: bool
    ) -> None:
        self._draw = draw
        self.row_kinds = row_kinds
        self._nulls = nulls
        self._nan = nan

    def integer(self, low: int, high: int, usual: int = 0, step: int = 1) -> int:
        drawn: int = self._draw(_integers(low - usual, high - usual))
        return drawn + usual

    def real(self, width: int) -> float:
        drawn: float = self._draw(_floats(width, self._nan))
        return drawn

    def text(self, least: int, most: int) -> str:
        drawn: str = self._draw(_texts(least, most))
        return drawn

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self._draw(_integers(0, len(options) - 1))]

    def is_null(self) -> bool:
        return self._nulls and self._draw(_integers(0, 3)) == 3  # noqa: PLR2004 - one of four


# Strategies are made once: making one takes longer than drawing from it.
@cache
def _integers(low: int, high: int) -> SearchStrategy[int]:
    st = HYPOTHESIS.load("hypothesis.strategies")
    within: SearchStrategy[int] = st.integers(low, high)
    is_wide = high - low > 1 << 7
    return within | st.sampled_from((low, high)) if is_wide else within


@cache
def _floats(width: int, nan: bool) -> SearchStrategy[float]:  # noqa: FBT001 - the key of a cache
    strategy: SearchStrategy[float] = HYPOTHESIS.load("hypothesis.strategies").floats(
        width=width, allow_nan=nan
    )
    return strategy


@cache
def _texts(least: int, most: int) -> SearchStrategy[str]:
    st = HYPOTHESIS.load("hypothesis.strategies")
    characters = st.characters(exclude_categories=["Cs"])
    strategy: SearchStrategy[str] = st.text(characters, min_size=least, max_size=most)
    return strategy

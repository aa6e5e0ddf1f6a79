"""Kernels of sums of whole numbers that are kept in two halves, so that a sum may leave LONG on its way and come back.

A number is its upper half by 2^32 plus its lower half, which is not negative: -1 is -1 * 2^32 + 4294967295. Both halves
are added; only the result has to be a LONG.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.aggregates import HALF_BITS as BITS
from penstock.expressions.tree import Call

_HALF = 1 << 31


def joined(_: Call, low: Any, high: Any) -> Any:
    """Return the sums; one that is no LONG is an error."""
    carried, rest = _normal(low, high)
    outside = pc.filter(_exact(low, high), _is_outside(carried))
    if len(outside):
        msg = f"the sum is {outside[0].as_py()}, which does not fit LONG"
        raise pa.ArrowInvalid(msg)
    return pc.add(pc.multiply(carried, pa.scalar(1 << BITS, pa.int64())), rest)


def quotient(_: Call, *parts: Any) -> Any:
    """Return the whole quotients, towards zero, of sums and counts; NULL of no values. A sum may have two halves."""
    *sums, count = parts
    divisor = pc.if_else(pc.greater(count, 0), count, pa.scalar(None, pa.int64()))
    if len(sums) == 1:
        return pc.divide(sums[0], divisor)
    if not pc.any(_is_outside(_normal(*sums)[0])).as_py():
        return pc.divide(joined(_, *sums), divisor)
    wide = zip(_exact(*sums).to_pylist(), divisor.to_pylist(), strict=True)
    return pa.array([_divided(*pair) for pair in wide], pa.int64())


def _normal(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the upper half with the carry, and the lower half, from 0 to 2^32 - 1."""
    carry = pc.shift_right(low, pa.scalar(BITS, pa.int64()))
    rest = pc.bit_wise_and(low, pa.scalar((1 << BITS) - 1, pa.int64()))
    return pc.add(high, carry), rest


def _is_outside(carried: Any) -> Any:
    outside = pc.or_(pc.less(carried, -_HALF), pc.greater_equal(carried, _HALF))
    return pc.fill_null(outside, False)  # noqa: FBT003 - the value of NULL


def _exact(low: Any, high: Any) -> Any:
    """Return the sums as decimals, which have all of them."""
    wide = pa.decimal256(40, 0)
    upper = pc.multiply(high.cast(wide), pa.scalar(1 << BITS, pa.decimal256(15, 0)))
    return pc.add(upper, low.cast(wide))


def _divided(total: Any, count: int | None) -> int | None:
    if total is None or count is None:
        return None
    magnitude = abs(int(total)) // count
    return magnitude if total >= 0 else -magnitude

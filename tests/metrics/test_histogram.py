"""Histograms: quantiles against sorted numbers, and merging against counting together."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from penstock.metrics import HistogramValue
from penstock.metrics.histogram import LatestValues, bucket_of, least_of

numbers = st.lists(st.one_of(st.integers(0, 200), st.integers(0, 2**50)), max_size=40)


def histogram(found):
    return reduce(HistogramValue.merged, map(HistogramValue.of, found), HistogramValue())


@given(st.integers(0, 2**60))
def test_buckets_are_narrow_and_in_order(number):
    least = least_of(bucket_of(number))
    assert least <= number <= least + least // 32
    assert bucket_of(number) <= bucket_of(number + 1) <= bucket_of(number) + 1
    assert least_of(bucket_of(number) + 1) > number


@given(numbers, st.floats(0, 1))
def test_quantiles_are_those_of_the_numbers_but_for_a_32nd(found, share):
    made = histogram(found)
    if not found:
        assert made.quantile(share) is None
        return
    in_order = sorted(found)
    wanted = next(n for at, n in enumerate(in_order, 1) if at >= share * len(found))
    quantile = made.quantile(share)
    assert quantile is not None
    assert wanted - wanted // 32 - 1 <= quantile <= wanted


@given(st.lists(numbers), st.integers(1, 50))
def test_of_the_latest_numbers_it_is_their_histogram(parts, most):
    made = LatestValues(most=most)
    for part in parts:
        made = made.merged(LatestValues.of_latest(tuple(part), most))
    latest = [number for part in parts for number in part][-most:]
    wanted = histogram(latest)
    assert (made.buckets, made.sum, made.min, made.max) == (
        wanted.buckets,
        wanted.sum,
        wanted.min,
        wanted.max,
    )
    assert [made.quantile(share) for share in (0, 0.5, 0.99)] == [
        wanted.quantile(share) for share in (0, 0.5, 0.99)
    ]


@given(numbers, numbers)
def test_merged_is_counted_together(left, right):
    merged = histogram(left).merged(histogram(right))
    assert merged == histogram(left + right)
    assert merged.count == len(left) + len(right)
    assert merged.min == min(left + right, default=None)
    assert merged.max == max(left + right, default=None)
    assert merged.mean == (sum(left + right) / merged.count if merged.count else None)

"""Histograms of whole numbers from 0, with a few hundred buckets at most.

Numbers below 64 have a bucket each. From 64 on, every doubling has 32 buckets of equal width, so a
quantile is at most 1/32 too low:

    bucket 0 … 63     the number itself
    bucket 64 …       (64, 65), (66, 67), … (126, 127), (128 … 131), …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

_STEPS = 32
_BITS = _STEPS.bit_length()


def bucket_of(number: int) -> int:
    """Return the bucket of a number from 0.

    >>> [bucket_of(number) for number in (0, 63, 64, 65, 66, 128)]
    [0, 63, 64, 64, 65, 96]
    """
    shift = max(number.bit_length() - _BITS, 0)
    return shift * _STEPS + (number >> shift)


def least_of(bucket: int) -> int:
    """Return the least number of a bucket.

    >>> [least_of(bucket_of(number)) for number in (5, 64, 65, 131)]
    [5, 64, 64, 128]
    """
    shift = max(bucket // _STEPS - 1, 0)
    return (bucket - shift * _STEPS) << shift


@dataclass(frozen=True, slots=True)
class HistogramValue:
    """A histogram of whole numbers.

    Attributes:
        buckets: Bucket to the count of its numbers.
        sum: Sum of all numbers.
        min: The least, None if there were none.
        max: The greatest, None if there were none.

    Example:
        >>> times = HistogramValue.of(3).merged(HistogramValue.of(5)).merged(HistogramValue.of(90))
        >>> times.count, times.quantile(0.5), times.max
        (3, 5, 90)
    """

    buckets: Mapping[int, int] = field(default_factory=dict)
    sum: int = 0
    min: int | None = None
    max: int | None = None

    @classmethod
    def of(cls, number: int) -> HistogramValue:
        """Return the histogram of one number from 0."""
        return cls({bucket_of(number): 1}, number, number, number)

    @property
    def count(self) -> int:
        """Count of the numbers."""
        return sum(self.buckets.values())

    @property
    def mean(self) -> float | None:
        """The arithmetic mean, None if there were no numbers."""
        return self.sum / self.count if self.buckets else None

    @property
    def result(self) -> HistogramValue:
        """Result of `get_accumulator_result`."""
        return self

    def quantile(self, share: float) -> int | None:
        """Return the number that `share` of all are not greater than, at most 1/32 too low.

        Args:
            share: From 0 to 1; 0.5 is the median.
        """
        rank, seen = share * self.count, 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= rank:
                return max(least_of(bucket), self.min or 0)
        return self.max

    def merged(self, other: HistogramValue) -> HistogramValue:
        """Return the histogram of the numbers of both."""
        least = [value for value in (self.min, other.min) if value is not None]
        greatest = [value for value in (self.max, other.max) if value is not None]
        return HistogramValue(
            dict(Counter(self.buckets) + Counter(other.buckets)),
            self.sum + other.sum,
            min(least, default=None),
            max(greatest, default=None),
        )


@dataclass(frozen=True, slots=True)
class LatestValues(HistogramValue):
    """A histogram of the latest numbers only."""

    numbers: tuple[int, ...] = ()
    most: int = 1

    @classmethod
    def of_latest(cls, numbers: tuple[int, ...], most: int) -> LatestValues:
        """Return the histogram of the last `most` numbers.

        >>> LatestValues.of_latest((9, 1, 2), 2).max
        2
        """
        latest = numbers[-most:]
        buckets = dict(Counter(map(bucket_of, latest)))
        least, greatest = min(latest, default=None), max(latest, default=None)
        return cls(buckets, sum(latest), least, greatest, latest, most)

    def merged(self, other: HistogramValue) -> LatestValues:
        """Return the histogram of the latest numbers of both; those of `other` are later."""
        assert isinstance(other, LatestValues), "values of one metric are of one class"
        return LatestValues.of_latest(self.numbers + other.numbers, other.most)

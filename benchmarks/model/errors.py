"""What can go wrong in a benchmark, other than in what it measures."""

from __future__ import annotations

from penstock.errors import PenstockError


class BenchRequestError(PenstockError, ValueError):
    """A benchmark was asked for something it does not have."""

    code = "BENCH_REQUEST"


class SystemMissingError(PenstockError):
    """A system cannot be started on this machine; it is left out, with the problem as reason."""

    code = "BENCH_SYSTEM_MISSING"


class SystemFailedError(PenstockError):
    """The process of a system reported an error, or died."""

    code = "BENCH_SYSTEM_FAILED"

"""The number of an epoch: what is written together becomes visible together."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class EpochNumber:
    """A batch run, or a micro-batch of a live run. Later epochs of a job are greater.

    An epoch that is computed again, after a failure or by the next driver, has the same number.

    Attributes:
        run: Index of the run in the job, from 0.
        number: Number of the micro-batch in the run, from 0.
        is_whole_run: Whether no epoch of the run follows, because it is a batch run.

    Example:
        >>> str(EpochNumber(1, 17)), EpochNumber(0, 99) < EpochNumber(1, 0)
        ('1-17', True)
    """

    run: int = 0
    number: int = 0
    is_whole_run: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return e.g. `1-17`; safe in a file name."""
        return f"{self.run}-{self.number}"

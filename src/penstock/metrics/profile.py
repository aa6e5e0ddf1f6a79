"""The profile of a job: its metrics `seconds.…`, ordered and summed.

    slots * wall clock  =  busy time of workers  +  time of Spark, and idle time

A slot runs one task at a time. Workers measure their sections (`task_clock`); the rest is Spark:
planning, starting tasks, shuffles, sorting, its logs; in a live run also waiting for records. Two
workers of one task (a level, and the sinks after it) can be busy at the same time, so the sum may
exceed the wall clock if there are more cores than slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.metrics import task_clock
from penstock.metrics.job_metrics import SECONDS_PREFIX

WALL = "driver.wall"
"""The time from the submission of the job to its last commit."""

SPARK_JOB = "driver.job"
"""The time of Spark jobs, those of batch runs and of micro-batches."""

COMMIT = "driver.commit"
"""The time of commits of sinks."""

_DIGITS = 4

_DRIVER = frozenset({WALL, SPARK_JOB, COMMIT})

_ORDER = {
    name: number
    for number, name in enumerate(
        (
            task_clock.START,
            task_clock.READ,
            task_clock.ARROW,
            task_clock.STATE,
            task_clock.DECODE,
            task_clock.OPERATOR,
            task_clock.EXCHANGE,
            task_clock.ENCODE,
            task_clock.WRITE,
            task_clock.OTHER,
            task_clock.WAIT,
        )
    )
}
"""Sections in the order in which records pass them."""


PLACES: dict[str, tuple[str, ...]] = {
    "reading": (task_clock.READ, task_clock.ARROW),
    "decode": (task_clock.DECODE,),
    "function": (task_clock.OPERATOR,),
    "exchange": (task_clock.EXCHANGE, task_clock.ENCODE),
    "state": (task_clock.STATE,),
    "commit": (task_clock.WRITE,),
    "start": (task_clock.START, task_clock.OTHER),
}
"""Sections of the costs of a record, which add up to it; the commit in the driver and Spark come to these."""

SPARK = "Spark"


@dataclass(frozen=True, slots=True)
class Spent:
    """The time of a section at a place.

    Attributes:
        place: `level-0`, `level-1`, …, `sinks`.
        section: A section of `task_clock`.
        seconds: Sum over all tasks.
    """

    place: str
    section: str
    seconds: float

    @property
    def is_busy(self) -> bool:
        """True if a worker was busy in the section."""
        return self.section != task_clock.WAIT


@dataclass(frozen=True, slots=True)
class JobProfile:
    """The profile of a job.

    Attributes:
        wall_seconds: From submission to the last commit.
        slots: Tasks that can run at a time.
        spent: Times by place, then in the order in which records pass the sections.
    """

    wall_seconds: float
    job_seconds: float
    commit_seconds: float
    slots: int
    spent: tuple[Spent, ...]

    @classmethod
    def of(cls, results: Mapping[str, Any], slots: int) -> JobProfile:
        """Return the profile of a job."""
        seconds = {
            name.removeprefix(SECONDS_PREFIX): float(spent)
            for name, spent in results.items()
            if name.startswith(SECONDS_PREFIX)
        }
        split = ((name.partition("."), spent) for name, spent in seconds.items())
        spent = [Spent(place, section, took) for (place, _, section), took in split]
        return cls(
            wall_seconds=seconds.get(WALL, 0.0),
            job_seconds=seconds.get(SPARK_JOB, 0.0),
            commit_seconds=seconds.get(COMMIT, 0.0),
            slots=slots,
            spent=tuple(
                sorted(
                    (entry for entry in spent if f"{entry.place}.{entry.section}" not in _DRIVER),
                    key=_position,
                )
            ),
        )

    @property
    def busy_seconds(self) -> float:
        """Busy time of all workers."""
        return sum(spent.seconds for spent in self.spent if spent.is_busy)

    @property
    def spark_seconds(self) -> float:
        """Time of all slots in which no worker was busy."""
        return max(0.0, self.wall_seconds * self.slots - self.busy_seconds)

    def share(self, seconds: float) -> float:
        """Return the share of seconds in the time of all slots."""
        had = self.wall_seconds * self.slots
        return seconds / had if had else 0.0

    def by_place(self) -> dict[str, float]:
        """Return the seconds of slots by cost; they add up to all slots over the wall clock.

        `exchange` has the combining of records before it. `commit` is the writing of sinks, and all slots while
        the driver commits. `Spark` is the rest.
        """
        seconds = {
            place: sum(spent.seconds for spent in self.spent if _kind(spent.section) in sections)
            for place, sections in PLACES.items()
        }
        committing = min(self.commit_seconds * self.slots, self.spark_seconds)
        seconds["commit"] += committing
        return {**seconds, SPARK: self.spark_seconds - committing}

    def to_json(self) -> dict[str, Any]:
        """Return the object in the results of benchmarks."""
        return {
            "wall_seconds": round(self.wall_seconds, _DIGITS),
            "job_seconds": round(self.job_seconds, _DIGITS),
            "commit_seconds": round(self.commit_seconds, _DIGITS),
            "slots": self.slots,
            "busy_seconds": round(self.busy_seconds, _DIGITS),
            "spark_seconds": round(self.spark_seconds, _DIGITS),
            "spent": {
                f"{spent.place}.{spent.section}": round(spent.seconds, _DIGITS)
                for spent in self.spent
            },
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> JobProfile:
        """Return the profile that `to_json` encoded."""
        driver = {
            WALL: fields["wall_seconds"],
            SPARK_JOB: fields["job_seconds"],
            COMMIT: fields["commit_seconds"],
        }
        seconds = {**driver, **fields["spent"]}
        return cls.of({f"{SECONDS_PREFIX}{k}": v for k, v in seconds.items()}, fields["slots"])


def _kind(section: str) -> str:
    """Return a section without the operator that it is of."""
    kind, dot, _ = section.partition(".")
    return f"{kind}{dot}"


def _position(spent: Spent) -> tuple[float, int, str]:
    number = spent.place.removeprefix("level-")
    place = float(number) if number.isdecimal() else float("inf")
    return place, _ORDER[_kind(spent.section)], spent.section

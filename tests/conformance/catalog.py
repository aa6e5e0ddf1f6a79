"""What a conformance program is: streams built on an environment, and their answer.

The answers are those of PyFlink 2.3. Where its answer is an accident or a bug, the answer here
is what `docs/pyflink-differences.md` says instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common import Configuration
from penstock.datastream import DataStream, StreamExecutionEnvironment

Build = Callable[[StreamExecutionEnvironment], "DataStream[Any]"]

BOTH = ("BATCH", "STREAMING")


@dataclass(frozen=True, slots=True)
class Program:
    """One program.

    Attributes:
        name: What it shows.
        build: Builds it and returns the stream whose records are the answer.
        answers: Runtime mode to the records of that stream.
        parallelism: Of the environment.
        ordered: The order of the records belongs to the answer.
        batch_size: Records per micro-batch that the STREAMING answer holds for; None is any.
    """

    name: str
    build: Build
    answers: dict[str, Sequence[Any]]
    parallelism: int
    ordered: bool
    batch_size: int | None

    def environment(self, mode: str, **settings: str) -> StreamExecutionEnvironment:
        """Return an environment to build it on."""
        return StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(
                {"parallelism.default": self.parallelism, "execution.runtime-mode": mode} | settings
            )
        )


PROGRAMS: list[Program] = []
"""All of them, in order of definition."""


def program(
    answer: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    streaming: Sequence[Any] | None = None,
    parallelism: int = 2,
    ordered: bool = False,
    batch_size: int | None = None,
) -> Callable[[Build], Build]:
    """Register a program with its answer, or one per mode; a mode without one is not run."""

    def register(build: Build) -> Build:
        answers = {"BATCH": batch, "STREAMING": streaming}
        known = {mode: answer if own is None else own for mode, own in answers.items()}
        PROGRAMS.append(
            Program(
                build.__name__,
                build,
                {mode: own for mode, own in known.items() if own is not None},
                parallelism,
                ordered,
                batch_size,
            )
        )
        return build

    return register

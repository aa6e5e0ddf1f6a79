"""Find the commit that made a figure worse: both ends are measured, then halves of what lies between.

    python -m benchmarks.bisect GOOD BAD --ratio "penstock batch / rdd, 1000 keys" reduce -- --against rdd

The figure is a ratio of one interleaved run (`benchmarks.reporting.results`), because the speed of a
machine changes over a night and a ratio hardly does. What follows `--` goes to `python -m benchmarks`
of every commit, so both ends must know these options. A commit whose requirement files differ from
those of this checkout gets an environment of its own; that takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from penstock.errors import ConfigError

_ROOT = Path(__file__).parent.parent
_REQUIREMENTS = "requirements/dev.txt"
_WORSE = 0.95
"""Ends that are nearer than this are within what repeated runs of one commit differ by."""

Measure: TypeAlias = Callable[[str], float]
"""From a commit to its figure, where more is better."""


@dataclass(frozen=True, slots=True)
class Regression:
    """What was found.

    Attributes:
        commit: First commit that is nearer to the bad end than to the good one.
        before: Figure of the commit before it, as measured.
        after: Figure of `commit`.
        measured: Every figure by commit, in the order of measuring.
    """

    commit: str
    before: float
    after: float
    measured: dict[str, float]


def find(commits: Sequence[str], measure: Measure) -> Regression:
    """Return the first bad one of commits.

    Args:
        commits: The good end, all after it, the bad end; in the order they were made.
        measure: Called once for each commit that is looked at: both ends and log2 of the rest.

    Raises:
        ConfigError: The bad end is not worse than the good one by 5 %.

    Examples:
        >>> found = find(["a", "b", "c", "d"], {"a": 2.0, "b": 1.9, "c": 1.0, "d": 1.1}.__getitem__)
        >>> found.commit, found.before, found.after
        ('c', 1.9, 1.0)
    """
    good, bad = 0, len(commits) - 1
    measured = {commits[end]: measure(commits[end]) for end in (good, bad)}
    first, last = measured[commits[good]], measured[commits[bad]]
    if last > first * _WORSE:
        raise ConfigError(
            f"{commits[bad]} has {last:.3f} and {commits[good]} {first:.3f}: that is no regression.",
            hint="Measure a ratio that became worse, with more records or rounds (-- --runs 5).",
        )
    limit = (first + last) / 2
    while bad - good > 1:
        middle = (good + bad) // 2
        measured[commits[middle]] = measure(commits[middle])
        if measured[commits[middle]] < limit:
            bad = middle
        else:
            good = middle
    return Regression(commits[bad], measured[commits[good]], measured[commits[bad]], measured)


def commits_between(repository: Path, good: str, bad: str) -> list[str]:
    """Return the commits from `good` to `bad`, both included, along first parents.

    Raises:
        ConfigError: One is no commit, or `bad` does not follow `good`.
    """
    start, end = (
        _git(repository, "rev-parse", "--verify", f"{end}^{{commit}}") for end in (good, bad)
    )
    listed = _git(repository, "rev-list", "--first-parent", "--reverse", f"{start}..{end}")
    commits = [start, *listed.split()]
    ancestors = ["git", "-C", str(repository), "merge-base", "--is-ancestor", start, end]
    if start == end or subprocess.run(ancestors, check=False).returncode:  # noqa: S603 - git
        raise ConfigError(f"{bad} does not follow {good}.", hint="Name the older commit first.")
    return commits


def ratio_of(result: str, name: str) -> float:
    """Return a ratio of what `python -m benchmarks --json` printed.

    Raises:
        ConfigError: The run has no such ratio, or its outputs differ.
    """
    found = json.loads(result)
    if not all(each["outputs_equal"] for each in found["results"]):
        raise ConfigError(
            "outputs differ, so times mean nothing.", hint="Correct the program first."
        )
    ratios: dict[str, float] = found["ratios"]
    if name not in ratios:
        raise ConfigError(f"no ratio {name!r}.", hint=f"There are: {', '.join(map(repr, ratios))}.")
    return ratios[name]


def run_benchmark(repository: Path, arguments: Sequence[str], ratio: str, commit: str) -> float:
    """Run a benchmark in a checkout of a commit, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="bisect-") as scratch:
        checkout = Path(scratch, "checkout")
        _git(repository, "worktree", "add", "--detach", "--quiet", str(checkout), commit)
        try:
            python = _python_for(repository, checkout)
            ran = subprocess.run(  # noqa: S603 - this interpreter
                [str(python), "-m", "benchmarks", *arguments, "--json"],
                cwd=checkout,
                # Before the sources of this checkout, which its environment refers to.
                env=os.environ
                | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
                | dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(python)),
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
        finally:
            _git(repository, "worktree", "remove", "--force", str(checkout))
    if ran.returncode:
        raise ConfigError(
            f"the benchmark failed at {commit} (exit status {ran.returncode}).",
            hint="What it said is above. Choose ends between which it runs.",
        )
    return ratio_of(ran.stdout, ratio)


def _python_for(repository: Path, checkout: Path) -> Path:
    if (repository / _REQUIREMENTS).read_bytes() == (checkout / _REQUIREMENTS).read_bytes():
        return Path(sys.executable)
    environment = checkout / ".venv"
    make = ["sh", str(checkout / "scripts" / "make_venv.sh"), str(environment), _REQUIREMENTS]
    subprocess.run(make, cwd=checkout, check=True, stdout=sys.stderr)  # noqa: S603 - our script
    return environment / "bin" / "python"


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git
    if ran.returncode:
        raise ConfigError(ran.stderr.strip(), hint="Name two commits of this repository.")
    return ran.stdout.strip()


def main(
    good: Annotated[str, typer.Argument(help="A commit whose figure is right.")],
    bad: Annotated[str, typer.Argument(help="A later commit whose figure is worse.")],
    arguments: Annotated[
        list[str], typer.Argument(metavar="NAME [-- OPTIONS]", help="For python -m benchmarks.")
    ],
    ratio: Annotated[str, typer.Option(help="A name under `ratios` of its JSON.")],
) -> None:
    """Find the commit between two that made a ratio of a benchmark worse."""

    def measure(commit: str) -> float:
        value = run_benchmark(_ROOT, arguments, ratio, commit)
        typer.echo(f"{commit[:10]} {value:.3f}", err=True)
        return value

    try:
        commits = commits_between(_ROOT, good, bad)
        typer.echo(f"{len(commits)} commits, about {len(commits).bit_length() + 1} runs", err=True)
        found = find(commits, measure)
    except ConfigError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    typer.echo(_git(_ROOT, "log", "-1", "--format=%h %ad %s", "--date=iso", found.commit))
    typer.echo(f"{ratio}: {found.before:.3f} before, {found.after:.3f} with it")


if __name__ == "__main__":
    typer.run(main)

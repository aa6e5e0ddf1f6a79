"""A regression is found between two commits, in as few runs as halving takes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.bisect import commits_between, find, ratio_of, run_benchmark
from penstock.errors import ConfigError

BENCHMARK = """
import json, sys, penstock
slow = penstock.__doc__ == "slow"
print(json.dumps({"arguments": sys.argv[1:], "results": [{"outputs_equal": True}],
                  "ratios": {"a / b": 1.0 if slow else 2.0}}))
"""


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Five commits, the fourth of which makes the benchmark slow."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/dev.txt").write_text("")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/__main__.py").write_text(BENCHMARK)
    (tmp_path / "src/penstock").mkdir(parents=True)
    for number, speed in enumerate(("fast", "fast", "fast", "slow", "slow")):
        (tmp_path / "src/penstock/__init__.py").write_text(f'"""{speed}"""\n# {number}\n')
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "-m", str(number))
    return tmp_path


def test_the_commit_is_found_with_the_sources_of_each(repository: Path) -> None:
    commits = commits_between(repository, "HEAD~4", "main")
    found = find(commits, lambda commit: run_benchmark(repository, ["reduce"], "a / b", commit))
    assert git(repository, "log", "-1", "--format=%s", found.commit) == "3"
    assert (found.before, found.after) == (2.0, 1.0)
    assert len(found.measured) == 4
    assert git(repository, "worktree", "list").count("\n") == 0
    assert git(repository, "status", "--short") == ""


def test_a_thousand_commits_take_twelve_runs() -> None:
    commits = [str(number) for number in range(1001)]
    found = find(commits, lambda commit: 1.0 if int(commit) >= 618 else 2.0)
    assert found.commit == "618"
    assert len(found.measured) == 12


@pytest.mark.parametrize("last", [2.0, 1.95, 3.0])
def test_what_is_no_regression_is_refused(last: float) -> None:
    with pytest.raises(ConfigError, match="no regression"):
        find(["a", "b"], {"a": 2.0, "b": last}.__getitem__)


@pytest.mark.parametrize(
    ("ends", "said"),
    [(("main", "main~1"), "follow"), (("main", "main"), "follow"), (("x", "main"), "x|Need")],
)
def test_ends_must_be_commits_in_their_order(
    repository: Path, ends: tuple[str, str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        commits_between(repository, *ends)


def test_a_run_whose_outputs_differ_or_without_the_ratio_is_refused() -> None:
    with pytest.raises(ConfigError, match="outputs differ"):
        ratio_of(json.dumps({"results": [{"outputs_equal": False}], "ratios": {"a": 1}}), "a")
    with pytest.raises(ConfigError, match="'b'") as refused:
        ratio_of(json.dumps({"results": [], "ratios": {"a": 1}}), "b")
    assert "'a'" in refused.value.hint


def test_a_failing_benchmark_is_told_with_its_commit(repository: Path) -> None:
    (repository / "benchmarks/__main__.py").write_text("raise SystemExit(3)")
    git(repository, "commit", "--quiet", "-am", "broken")
    with pytest.raises(ConfigError, match="exit status 3"):
        run_benchmark(repository, [], "a", "main")
    assert git(repository, "worktree", "list").count("\n") == 0

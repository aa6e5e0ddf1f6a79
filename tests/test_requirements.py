"""The pinned requirements are complete, exact, and what the package declares."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).parent.parent
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]

DECLARED = {
    "runtime": PROJECT["project"]["dependencies"],
    "demo": EXTRAS["demo"],
    "dev": [*EXTRAS["dev"], *PROJECT["build-system"]["requires"]],
}
INCLUDES = {"runtime": [], "demo": ["runtime"], "dev": ["runtime", "demo"]}


def lines(name):
    text = (TOP / "requirements" / f"{name}.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith(("#", "-r "))]


def pins(name):
    """Return package to version, of the file and of those it includes."""
    return {
        canonicalize_name(package): version
        for part in [*INCLUDES[name], name]
        for package, _, version in (line.partition("==") for line in lines(part))
    }


@pytest.mark.parametrize("name", DECLARED)
def test_every_line_is_an_exact_pin(name):
    for line in lines(name):
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", line), line


@pytest.mark.parametrize("name", DECLARED)
def test_every_declared_dependency_is_pinned_within_its_bounds(name):
    pinned = pins(name)
    for declared in map(Requirement, DECLARED[name]):
        assert declared.specifier.contains(pinned[canonicalize_name(declared.name)]), declared


@pytest.mark.parametrize("name", DECLARED)
def test_what_the_pinned_packages_need_is_pinned_too(name):
    pinned = pins(name)
    for package in pinned:
        for needed in map(Requirement, distribution(package).requires or []):
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in pinned, f"{package} needs {needed}"


def test_no_package_is_pinned_twice():
    names = [
        canonicalize_name(line.partition("==")[0]) for name in DECLARED for line in lines(name)
    ]
    assert sorted(names) == sorted(set(names))

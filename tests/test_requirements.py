"""The pinned requirements are complete, exact, and what the package declares."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from scripts.hash_requirements import is_used, with_digests

TOP = Path(__file__).parent.parent
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]

DECLARED = {
    "runtime": PROJECT["project"]["dependencies"],
    "demo": EXTRAS["demo"],
    "delta": EXTRAS["delta"],
    "kafka": EXTRAS["kafka"],
    "postgres": EXTRAS["postgres"],
    "redis": EXTRAS["redis"],
    "s3": EXTRAS["s3"],
    "azure": EXTRAS["azure"],
    "google": EXTRAS["google"],
    "ui": EXTRAS["ui"],
    "otel": EXTRAS["otel"],
    "openlineage": EXTRAS["openlineage"],
    "sql": EXTRAS["sql"],
    "dev": [*EXTRAS["dev"], *PROJECT["build-system"]["requires"]],
}
INCLUDES = {
    "runtime": [],
    "demo": ["runtime"],
    "delta": ["runtime"],
    "kafka": ["runtime"],
    "postgres": ["runtime"],
    "redis": ["runtime"],
    "s3": ["runtime"],
    "ui": ["runtime"],
    "otel": ["runtime", "s3", "ui"],
    "azure": ["runtime", "s3", "ui", "otel"],
    "google": ["runtime", "s3", "ui", "otel", "azure"],
    "sql": ["runtime"],
    "openlineage": ["runtime", "demo", "s3", "ui", "otel"],
    "dev": ["runtime", *(each for each in DECLARED if each not in {"runtime", "dev"})],
}


def entries(name):
    """Return the pins of a file, each with its digests."""
    text = (TOP / "requirements" / f"{name}.txt").read_text().replace(" \\\n", " ")
    return [
        line.split() for line in text.splitlines() if line and not line.startswith(("#", "-r "))
    ]


def lines(name):
    return [pin for pin, *_ in entries(name)]


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
def test_every_pin_has_digests(name):
    for pin, *digests in entries(name):
        assert digests, pin
        for digest in digests:
            assert re.fullmatch("--hash=sha256:[0-9a-f]{64}", digest), f"{pin} {digest}"


def test_digests_are_written_behind_their_pins_and_again():
    text = ["# why", "a==1 \\", "    --hash=sha256:0", "", "b==2.0"]
    bare = [line for line in text if not line.startswith("    --")]
    found = with_digests(bare, {"a==1": ["1", "2"], "b==2.0": ["3"]})
    assert found == [
        "# why",
        "a==1 \\",
        "    --hash=sha256:1 \\",
        "    --hash=sha256:2",
        "",
        "b==2.0 \\",
        "    --hash=sha256:3",
    ]


@pytest.mark.parametrize(
    ("filename", "used"),
    [
        ("numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", True),
        ("numpy-2.4.6-cp313-cp313-macosx_14_0_arm64.whl", True),
        ("numpy-2.4.6-cp313-cp313t-manylinux_2_27_x86_64.whl", False),
        ("numpy-2.4.6-cp310-cp310-manylinux_2_27_x86_64.whl", False),
        ("numpy-2.4.6-cp311-cp311-win_amd64.whl", False),
        ("numpy-2.4.5-cp311-cp311-manylinux_2_27_x86_64.whl", False),
        ("numpy-2.4.6-cp39-abi3-manylinux_2_27_aarch64.whl", True),
        ("numpy-2.4.6-py3-none-any.whl", True),
        ("numpy-2.4.6-py2.py3-none-any.whl", True),
        ("numpy-2.4.6.tar.gz", True),
        ("numpy-2.4.6.zip.sig", False),
    ],
)
def test_files_of_supported_systems_have_digests(filename, used):
    assert is_used(filename, "2.4.6") is used


def test_the_environment_is_made_with_digests():
    assert "--require-hashes" in (TOP / "scripts" / "make_venv.sh").read_text()


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


USERS = [
    requirement
    for name, declared in DECLARED.items()
    if name not in {"demo", "dev"}
    for requirement in map(Requirement, declared)
]
"""What an installation without tools of a checkout may have."""


def replacing(name):
    """Return package to version of a file that is installed over the pins."""
    return dict(canonical(line) for line in lines(name))


def canonical(line):
    package, _, version = line.partition("==")
    return canonicalize_name(package), Version(version)


@pytest.mark.parametrize("name", ["lowest", "newest"])
def test_what_replaces_pins_has_digests_and_differs_from_them(name):
    pinned = {each: Version(version) for each, version in pins("dev").items()}
    for line, *digests in entries(name):
        assert digests, line
        package, version = canonical(line)
        assert version < pinned[package] if name == "lowest" else version > pinned[package], line


def test_every_lower_bound_is_that_of_a_row_of_the_matrix():
    installed = {each: Version(version) for each, version in pins("dev").items()}
    installed |= replacing("lowest")
    for requirement in USERS:
        [bound] = [each.version for each in requirement.specifier if each.operator == ">="]
        assert installed[canonicalize_name(requirement.name)] == Version(bound), requirement


def test_the_newest_versions_are_within_the_bounds():
    newest = replacing("newest")
    for requirement in USERS:
        version = newest.get(canonicalize_name(requirement.name))
        assert version is None or version in requirement.specifier, requirement


def test_no_package_is_pinned_twice():
    names = [
        canonicalize_name(line.partition("==")[0]) for name in DECLARED for line in lines(name)
    ]
    assert sorted(names) == sorted(set(names))

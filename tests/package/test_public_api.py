"""Public names and their signatures stay, unless a fragment of the changelog has them.

The file of the last release is in `docs/api`; it would find a method that was renamed, a parameter that lost
its default, a class that is no longer exported.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from packaging.version import Version

from penstock.version import __version__
from tools.public_api import (
    Differences,
    differences,
    explanation,
    last_release,
    public_modules,
    public_names,
    still_fits,
)

TOP = Path(__file__).parents[2]
CHANGELOG = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
FRAGMENTS = [path.read_text(encoding="utf-8") for path in (TOP / "changes").glob("+*.md")]
OLD = [
    "class penstock.common.Row(*values, **fields)",
    "def penstock.common.Row.as_dict(self, recursive=False)",
    "alias penstock.common.typeinfo.Row = penstock.common.Row",
    "def penstock.testing.collect(stream)",
]


@pytest.fixture(scope="module")
def names():
    return public_names()


@pytest.mark.parametrize("name", public_modules())
def test_every_public_module_says_what_is_public(name):
    module = importlib.import_module(name)
    assert "__all__" in vars(module)
    assert [each for each in module.__all__ if each not in vars(module)] == []
    assert len(set(module.__all__)) == len(module.__all__)


def test_what_a_release_had_is_there_or_in_the_changelog(names):
    before = last_release().read_text(encoding="utf-8").splitlines()
    explained = explanation(CHANGELOG, FRAGMENTS, last_release().stem)
    assert differences(before, names).unexplained(explained) == []


def test_the_last_release_is_not_newer_than_this_version():
    assert Version(last_release().stem) <= Version(__version__)


def test_the_changelog_begins_with_no_later_version():
    assert Version(CHANGELOG.split("\n## ")[1].split()[0]) <= Version(__version__)


def test_names_are_listed_once_and_have_no_addresses(names):
    assert len({line.split("(")[0] for line in names}) == len(names)
    assert not [line for line in names if " at 0x" in line]


@pytest.mark.parametrize(
    "line",
    [
        "alias penstock.datastream.data_stream.DataStream = penstock.datastream.DataStream",
        "member penstock.common.RuntimeExecutionMode.BATCH",
        "def penstock.testing.collect(stream, schedule=None)",
        "value penstock.__version__",
    ],
)
def test_kinds_of_names_are_listed(names, line):
    kind, name = line.split("(")[0].split(" ")[:2]
    assert [each for each in names if each.split("(")[0].startswith(f"{kind} {name}")]


def test_what_inherited_methods_a_stream_has_is_listed(names):
    found = {line.split("(")[0].split(" ")[1] for line in names}
    assert "penstock.datastream.DataStream.map" in found
    assert "penstock.datastream.KeyedStream.reduce" in found
    assert "penstock.errors.UserFunctionError" in found


def test_what_differs_is_told():
    new = [
        "class penstock.common.Row(*values)",
        "alias penstock.common.typeinfo.Row = penstock.common.Row",
        "def penstock.testing.collect(stream)",
        "def penstock.testing.show(stream)",
    ]
    assert differences(OLD, new) == Differences(
        removed=("penstock.common.Row.as_dict",),
        changed=("penstock.common.Row",),
        added=("penstock.testing.show",),
    )


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("* `Row.as_dict` is gone; `Row` takes no fields.", []),
        ("* `Row` is another.", []),
        ("* `as_dict()` is gone.", ["penstock.common.Row.as_dict", "penstock.common.Row"]),
        ("* `penstock.common.Row.as_dict` is gone.", ["penstock.common.Row"]),
        ("* Row and Row.as_dict changed.", ["penstock.common.Row.as_dict", "penstock.common.Row"]),
    ],
)
def test_the_changelog_has_to_name_it(said, left):
    found = differences(OLD, ["class penstock.common.Row(*values)", *OLD[2:]])
    assert found.unexplained(said) == left


@pytest.mark.parametrize(
    ("before", "now", "fits"),
    [
        ("def f(a)", "def f(a, b=1)", True),
        ("def f()", "def f(*, b=(1, 2))", True),
        ("class C(a=F(x=1, y=())) < B", "class C(a=F(x=1, y=()), b=None) < B", True),
        ("def f(a)", "def f(a, b)", False),
        ("def f(a, b=1)", "def f(a)", False),
        ("def f(a=1)", "def f(a)", False),
        ("def f(a=1)", "def f(a=2)", False),
        ("def f(a, b=1)", "def f(a, c=2, b=1)", False),
        ("class C(a) < B", "class C(a)", False),
        ("property p", "def p(self)", False),
        ("alias a = b", "alias a = c", False),
    ],
)
def test_parameters_with_defaults_may_be_added_at_the_end(before, now, fits):
    assert still_fits(before, now) is fits


@pytest.mark.parametrize(
    ("release", "named"),
    [("0.1.0", {"Row", "Tag"}), ("0.2.0", {"Tag"})],
    ids=["before-the-first-section", "of-the-first-section"],
)
def test_fragments_and_a_later_section_count(release, named):
    text = "# Changelog\n\n## 0.2.0 (2027-01-31)\n\n`Row`\n\n## 0.1.0\n\n`Types`\n"
    found = explanation(text, ["`Tag` is gone."], release)
    assert {each for each in ("Row", "Tag", "Types") if f"`{each}`" in found} == named


def test_versions_are_numbers(tmp_path):
    for name in ("0.9.0", "0.10.0", "0.2.11"):
        (tmp_path / f"{name}.txt").touch()
    assert last_release(tmp_path).stem == "0.10.0"

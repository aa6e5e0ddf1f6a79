"""Files for people who come to the repository: they can be read by their tools, and what they name is there."""

from __future__ import annotations

import re
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.version import __version__
from tools.matrix import PYTHONS, pairs
from tools.site.badges import IMAGES, render_badges

TOP = Path(__file__).parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FORMS = sorted((TOP / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOW = TOP / ".github" / "workflows" / "ci.yml"
HOOKS = TOP / ".pre-commit-config.yaml"
PAGES = [
    *(TOP / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
    TOP / ".github" / "PULL_REQUEST_TEMPLATE.md",
    TOP / "changes" / "README.md",
]
_TARGET = re.compile(r"\bmake ([a-z][a-z-]*)")
_FILE = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md|toml|yaml|yml|cff|txt|tsv))`|\]\(([^)#:]+)")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def words(value: Any) -> list[str]:
    """Return all texts of a document of YAML."""
    if isinstance(value, dict):
        return [word for each in value.values() for word in words(each)]
    if isinstance(value, list):
        return [word for each in value for word in words(each)]
    return [value] if isinstance(value, str) else []


def targets(text: str) -> set[str]:
    return set(_TARGET.findall(text))


@pytest.mark.parametrize("path", [*PAGES, *FORMS, WORKFLOW, HOOKS], ids=lambda path: path.name)
def test_targets_of_make_are_there(path: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(), re.MULTILINE))
    assert targets(path.read_text(encoding="utf-8")) <= known | {"a", "it", "one"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_and_links_are_there(path: Path) -> None:
    found = {name or link for name, link in _FILE.findall(path.read_text(encoding="utf-8"))}
    below = (TOP, path.parent, TOP / "src" / "penstock", TOP / "docs")
    examples = {"changes/+kafka-headers.added.md"}
    assert {name for name in found if not any((at / name).exists() for at in below)} <= examples


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_of_issues_have_what_their_reader_needs(path: Path) -> None:
    form = read(path)
    if path.name == "config.yml":
        assert form.keys() <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= form.keys()
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in fields}) == len(fields)
    assert all(each["attributes"]["label"] for each in fields)
    assert {each["type"] for each in fields} <= {"input", "textarea", "dropdown", "checkboxes"}


def test_the_workflow_runs_what_a_change_has_to_pass() -> None:
    jobs = read(WORKFLOW)["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands == [".ci/run", "make test-matrix pairs=${{ matrix.pair }}"]
    assert (TOP / ".ci" / "run").is_file()
    rows = jobs["matrix"]["strategy"]["matrix"]["include"]
    least, most = (".".join(map(str, version)) for version in (PYTHONS[0], PYTHONS[-1]))
    assert [(row["pair"], row["python"]) for row in rows] == [("lowest", least), ("newest", most)]
    assert {row["pair"] for row in rows} <= {str(pair) for pair in pairs()}


def test_hooks_are_pinned_and_their_tests_are_there() -> None:
    repositories = read(HOOKS)["repos"]
    others = [each for each in repositories if each["repo"] != "local"]
    assert all(re.fullmatch(r"v?\d+(\.\d+)+", each["rev"]) for each in others)
    assert all(each["repo"].startswith("https://github.com/") for each in others)
    hooks = [hook for each in repositories if each["repo"] == "local" for hook in each["hooks"]]
    named = {word for hook in hooks for word in hook["entry"].split() if word.endswith(".py")}
    assert len(named) == 3
    assert [name for name in named if not (TOP / name).is_file()] == []


def test_the_citation_is_of_this_version() -> None:
    citation = read(TOP / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"]
    assert citation["title"]
    assert citation["message"]


def test_the_editor_has_the_indents_of_the_files() -> None:
    text = (TOP / ".editorconfig").read_text(encoding="utf-8")
    parser = ConfigParser()
    parser.read_string(f"[top]\n{text}")
    assert parser["top"]["root"] == "true"
    assert parser["*"]["indent_style"] == "space"
    assert parser["Makefile"]["indent_style"] == "tab"


def test_no_file_names_an_address_but_those_of_hooks() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*PAGES, *FORMS, WORKFLOW]]
    texts.append((TOP / "CITATION.cff").read_text(encoding="utf-8"))
    assert [text for text in texts if "://" in text] == []


def test_the_map_has_every_package() -> None:
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (plan,) = re.findall(
        r"^## Map of the house\n\n```text\n(.*?)```", text, re.DOTALL | re.MULTILINE
    )
    lines = plan.splitlines()
    assert len(lines) <= 30
    inside = lines[1 : lines.index(next(line for line in lines if line.startswith("tests/")))]
    named = {name for line in inside for name in re.findall(r"(\w+)/", line.split("    ")[0])}
    packages = {path.parent.name for path in (TOP / "src" / "penstock").glob("*/__init__.py")}
    assert named == packages


def test_every_recipe_names_the_test_that_follows_it() -> None:
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = [part for part in text.split("\n## ") if part.startswith("Add ")]
    assert len(recipes) == 6
    proofs = [re.search(r"^Proof: `(tests/[\w/]+\.py)`", each, re.MULTILINE) for each in recipes]
    assert all(proof and (TOP / proof[1]).is_file() for proof in proofs)


def test_badges_are_of_this_project() -> None:
    made = render_badges()
    assert {name: (IMAGES / name).read_text(encoding="utf-8") for name in made} == made
    shown = (TOP / "README.md").read_text(encoding="utf-8")
    assert [name for name in made if f"](docs/images/{name})" not in shown] == []

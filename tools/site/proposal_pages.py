"""The pages of the proposals: each rule, where it lives, which tests prove it, and what it means in detail.

Rules and their statements are in proposals.toml. A comment above a definition or a test cites rules:

    # FLIP-327, rules 4, 7.
    def end_key(self, watermark: int) -> None:

A statement names its test in the table: one test proves several, and many of them belong to no single definition.
`tests/docs/test_proposals.py` refuses rules that nothing cites, citations of rules that are none, and tests that do not exist.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("proposals.toml")

_CITATION = re.compile(r"^ *# (?P<proposal>FLIP-\d+|CodedRowData), rules? (?P<rules>[\d, ]+)\.$")
_DEFINED = re.compile(r"^ *(?:def|class|async def) (?P<name>\w+)|^(?P<constant>[A-Z_]+): ")

_HEAD = """\
# The proposals

Flink's community designed how a job reads its backlog as a batch and goes on live, in five proposals of which little was merged. Penstock implements them.
These pages have every rule, whether it works as proposed or deviates, where it lives, and which tests fail without it. They are made from comments in the
source and a table that names tests. [Benchmarks](../../benchmarks.md) and [decision 93](../../decisions/0093-figures-on-one-commit.md) have what the proposals measured.

| Proposal | Rules | Statements | Works | Deviates |
|---|---|---|---|---|
{rows}

## Deviations

| Rule | The proposal | Here |
|---|---|---|
{deviations}
"""

_STATEMENTS = "| | In detail | Status | Test |\n|---|---|---|---|"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_KEY = re.compile(r"(\d+)[a-z]")


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a rule.

    Attributes:
        key: Number of the rule and a letter.
        says: Its meaning, in our words.
        test: Id of the test that proves it, or what is done instead.
        instead: What was decided in place of it; empty if it works as proposed.
    """

    key: str
    says: str
    test: str
    instead: str = ""

    @property
    def rule(self) -> str:
        """Number of its rule."""
        found = _KEY.fullmatch(self.key)
        assert found is not None, self.key
        return found[1]

    @property
    def status(self) -> str:
        """One word for a table."""
        return "deviates" if self.instead else "works"


@dataclass(frozen=True, slots=True, order=True)
class Cited:
    """A definition that cites a rule.

    Attributes:
        path: Of its file, below the top.
        name: Of the class, function or constant.
    """

    path: str
    name: str

    @property
    def is_test(self) -> bool:
        """Whether it proves a rule, and is not the place where it lives."""
        return self.path.startswith("tests/")


def proposals() -> dict[str, Any]:
    """Return the table: proposals with titles and rules."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def statements(proposal: dict[str, Any]) -> list[Statement]:
    """Return the statements of a proposal, in order of its rules."""
    return [Statement(key, **fields) for key, fields in proposal["statements"].items()]


def citations() -> dict[tuple[str, int], list[Cited]]:
    """Return what cites each rule, in order of paths."""
    found: dict[tuple[str, int], set[Cited]] = defaultdict(set)
    for folder in ("src", "tests"):
        for path in sorted((TOP / folder).rglob("*.py")):
            name = path.relative_to(TOP).as_posix()
            for proposal, rule, cited in cited_in(path.read_text(encoding="utf-8")):
                found[proposal, rule].add(Cited(name, cited))
    return {key: sorted(of) for key, of in found.items()}


def cited_in(text: str) -> Iterator[tuple[str, int, str]]:
    r"""Yield the rules that a source cites: proposal, rule, and the definition below; "" if none is.

    Examples:
        >>> list(cited_in("# FLIP-331, rules 1, 2.\n@cached\ndef plan():\n    pass\n"))
        [('FLIP-331', 1, 'plan'), ('FLIP-331', 2, 'plan')]
    """
    lines = text.splitlines()
    for at, line in enumerate(lines):
        found = _CITATION.match(line)
        if found is not None:
            name = _defined(lines[at + 1 :])
            for rule in found["rules"].split(","):
                yield found["proposal"], int(rule), name


def render_proposals() -> dict[str, str]:
    """Return the pages, by path."""
    table, cited = proposals(), citations()
    rows, deviations = [], []
    pages = {}
    for name, proposal in table.items():
        path = f"{name.lower()}.md"
        rules, instead = proposal["rules"], proposal.get("instead", {})
        parts = statements(proposal)
        deviates = len(instead) + sum(1 for each in parts if each.instead)
        works = len(rules) + len(parts) - deviates
        title = f"[{name}: {proposal['title']}]({path})"
        rows.append(f"| {title} | {len(rules)} | {len(parts)} | {works} | {deviates} |")
        otherwise = [(key, rules[key], text) for key, text in instead.items()]
        otherwise += [(each.key, each.says, each.instead) for each in parts if each.instead]
        for key, says, text in sorted(
            otherwise, key=lambda row: (int(row[0].strip(_LETTERS)), row)
        ):
            rule = f"[{name} {key}]({path}#rule-{key.strip(_LETTERS)})"
            deviations.append(f"| {rule} | {says} | {text} |")
        pages[f"reference/proposals/{path}"] = _page(name, proposal, cited)
    pages["reference/proposals/index.md"] = _HEAD.format(
        rows="\n".join(rows), deviations="\n".join(deviations)
    )
    return pages


def _page(name: str, proposal: dict[str, Any], cited: dict[tuple[str, int], list[Cited]]) -> str:
    parts = [
        f"# {name}: {proposal['title']}\n",
        f"{proposal['what']} [Source]({proposal['url']}).\n",
    ]
    instead, of_rule = proposal.get("instead", {}), statements(proposal)
    for number, rule in proposal["rules"].items():
        of = cited.get((name, int(number)), [])
        parts += [f"\n## Rule {number} {{ #rule-{number} }}\n", f"{rule}\n"]
        if number in instead:
            parts.append(f"**Deviates.** {instead[number]}\n")
        lives = [f"* `{each.name}` in `{each.path}`" for each in of if not each.is_test]
        proven = [f"* `{each.path}::{each.name}`" for each in of if each.is_test]
        parts += ["It lives in\n", *lives, ""] if lives else []
        parts += ["A test proves it\n", *proven, ""] if proven else []
        rows = [
            f"| {each.key} | {each.says} {each.instead} | {each.status} | `{each.test}` |"
            for each in of_rule
            if each.rule == number
        ]
        parts += [_STATEMENTS, *rows, ""] if rows else []
    return "\n".join(parts)


def _defined(below: list[str]) -> str:
    depth = 0
    for line in below:
        found = _DEFINED.match(line) if depth == 0 else None
        if found is not None:
            return found["name"] or found["constant"]
        code = line.partition("#")[0]
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        if not line.strip() or (depth == 0 and not line.strip().startswith(("@", "#", ")"))):
            return ""
    return ""

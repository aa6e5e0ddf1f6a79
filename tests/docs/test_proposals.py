"""Every rule of a proposal lives somewhere and is proven by a test, or says what was decided instead."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.site.proposal_pages import (
    TOP,
    Statement,
    citations,
    cited_in,
    proposals,
    render_proposals,
    statements,
)

RULES = {
    (name, int(number)): text
    for name, proposal in proposals().items()
    for number, text in proposal["rules"].items()
}
INSTEAD = {
    (name, int(number))
    for name, proposal in proposals().items()
    for number in proposal.get("instead", {})
}
STATEMENTS = [
    (name, each) for name, proposal in proposals().items() for each in statements(proposal)
]
CITED = citations()


def functions_of(path: Path) -> set[str]:
    """Return the functions that pytest collects from a file, those of classes too."""
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize(("name", "each"), STATEMENTS, ids=[f"{n}-{s.key}" for n, s in STATEMENTS])
def test_a_statement_has_a_rule_and_a_test_that_exists(name: str, each: Statement) -> None:
    assert (name, int(each.rule)) in RULES
    path, _, test = each.test.partition("::")
    assert Path(path).name.startswith("test_")
    assert test in functions_of(TOP / path)


def test_every_rule_with_a_test_exists() -> None:
    tests = {each for of in CITED.values() for each in of if each.is_test}
    assert [each for each in tests if each.name not in functions_of(TOP / each.path)] == []


def test_every_rule_lives_somewhere() -> None:
    homeless = {rule for rule in RULES if all(each.is_test for each in CITED.get(rule, []))}
    assert homeless - INSTEAD == set()


def test_every_rule_is_proven() -> None:
    unproven = {rule for rule in RULES if not any(each.is_test for each in CITED.get(rule, []))}
    assert unproven == set()


def test_only_rules_are_cited_and_above_a_definition() -> None:
    assert CITED.keys() - RULES.keys() == set()
    assert [each for of in CITED.values() for each in of if not each.name] == []
    tests = {each.name for of in CITED.values() for each in of if each.is_test}
    assert {name for name in tests if not name.startswith("test_")} == set()


def test_only_rules_are_decided_otherwise() -> None:
    assert RULES.keys() >= INSTEAD


def test_the_pages_have_every_rule() -> None:
    pages = render_proposals()
    assert len(pages) == 1 + len(proposals())
    index = pages["reference/proposals/index.md"]
    deviations = len(INSTEAD) + sum(1 for _, each in STATEMENTS if each.instead)
    assert index.partition("## Deviations")[2].count("\n| [") == deviations
    page = pages["reference/proposals/flip-331.md"]
    assert "| 6a | A savepoint in that phase fails. It waits" in page
    assert "`cut_after_region` in `src/penstock/plan/phases/bounded_region.py`" in page
    assert page.count("\n## Rule ") == len(proposals()["FLIP-331"]["rules"])


def test_what_a_comment_is_above() -> None:
    text = (
        "# FLIP-327, rule 3.\n"
        "@pytest.mark.parametrize(\n"
        '    "n",\n'
        "    [1, 2],\n"
        ")\n"
        "def test_it(n):\n"
        "    # FLIP-327, rule 4.\n"
        "    assert n\n"
        "# FLIP-329, rule 1.\n"
        "LIMIT: int = 3\n"
    )
    assert list(cited_in(text)) == [
        ("FLIP-327", 3, "test_it"),
        ("FLIP-327", 4, ""),
        ("FLIP-329", 1, "LIMIT"),
    ]

"""Every rule of a proposal lives somewhere and is proven by a test, or says what was decided instead."""

from __future__ import annotations

from tools.site.proposal_pages import citations, cited_in, proposals, render_proposals

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
CITED = citations()


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
    page = pages["reference/proposals/flip-331.md"]
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

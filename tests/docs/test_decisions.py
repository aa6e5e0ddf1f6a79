"""Decision records have a status, and their index is made of them."""

from __future__ import annotations

import pytest

from tools.site.decisions import RECORDS, STATES, Record, records, render_index


def test_the_index_is_made_of_the_records() -> None:
    text = (RECORDS / "README.md").read_text(encoding="utf-8")
    assert text == render_index(), "run make docs"


@pytest.mark.parametrize("record", records(), ids=lambda record: record.path.name)
def test_a_record_has_a_status(record: Record) -> None:
    assert record.state in STATES
    assert record.status.endswith(".")
    assert (record.state == "superseded") <= bool(record.later)


def test_every_number_is_used_or_named() -> None:
    found = [each.number for each in records()]
    assert len(found) == len(set(found))
    (line,) = [line for line in render_index().splitlines() if line.startswith("No record has")]
    unused = [int(word.strip(",;")) for word in line.split() if word.strip(",;").isdigit()]
    assert sorted([*found, *unused]) == list(range(1, max(found) + 1))


def test_links_of_the_site_lead_to_the_records() -> None:
    assert "](../decisions/0001-frames-and-levels.md)" in render_index("../decisions/")

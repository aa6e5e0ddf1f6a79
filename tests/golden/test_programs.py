"""Programs keep the fingerprints and uids by which their state is found."""

from __future__ import annotations

import json

import pytest

from tests.golden.programs import MODES, PROGRAMS, RECORDED, identity

GOLDEN = json.loads(RECORDED.read_text())


def test_every_program_is_recorded() -> None:
    assert len(PROGRAMS) >= 20
    assert set(GOLDEN) == {f"{name} {mode}" for name in PROGRAMS for mode in MODES}


@pytest.mark.parametrize("case", GOLDEN)
def test_a_program_keeps_its_identity(case: str) -> None:
    name, mode = case.rsplit(" ", 1)
    assert identity(name, mode) == GOLDEN[case]

"""The picture is drawn from results of any size."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from examples.demo.answers import Answers

pytest.importorskip("matplotlib")

from examples.demo.plot import draw

ROUTES = {("UA", "EWR"): ("UA", "EWR", 2, 2, 1, 62), ("AA", "JFK"): ("AA", "JFK", 1, 0, 0, 0)}


@pytest.mark.parametrize("alerts", [{}, {("N1", 1_357_000_000_000, 1_385_000_000_000): 2}])
def test_draws_a_picture(prepared, alerts):
    shutil.copytree(prepared.feed, prepared.live, dirs_exist_ok=True)
    file = draw(prepared, Answers({"aircraft": {}, "routes": ROUTES}, Counter(alerts)))
    assert file.read_bytes().startswith(b"\x89PNG")

"""The text of the demo: aligned, and with the figures in it."""

from __future__ import annotations

from collections import Counter

from examples.demo.answers import Answers
from examples.demo.check import Expected
from examples.demo.compare import Measured, ratio
from examples.demo.report import answers_text, columns, compare_text, story_text
from examples.demo.story import Story

ANSWERS = Answers(
    {
        "aircraft": {("N1",): ("N1", 3, 3, 60, 20.0)},
        "routes": {
            ("UA", "EWR"): ("UA", "EWR", 2, 2, 1, 62),
            ("UA", "JFK"): ("UA", "JFK", 3, 2, 1, 10),
            ("AA", "JFK"): ("AA", "JFK", 1, 0, 0, 0),
        },
    },
    Counter({("N1", 0, 10): 1, ("N1", 4, 14): 1, ("N1", 30, 40): 1}),
)


def test_columns_align_names_to_the_left_and_figures_to_the_right():
    assert columns([("a", "n"), ("long", "1,000")]) == "  a         n\n  long  1,000"


def test_story_tells_speeds_and_the_switch():
    text = story_text(Story(1000, 2.0, 0.5, 0, 300, 1.0, 3))
    assert "history    1,000      2.0        500" in text
    assert "the switch took 0.5 s" in text
    assert "history is complete until 1970-01-01 00:00" in text


def test_a_phase_that_read_nothing_has_no_speed():
    assert "live           0      0.0          -" in story_text(Story(1000, 2.0))


def test_answers_tell_alerts_and_carriers():
    text = answers_text(ANSWERS, Expected(ANSWERS, 6, 0), switch_ms=10)
    assert "3 alerts: one of 1 aircraft" in text
    assert "1 of them were timers of history that fired live" in text
    carriers = text.splitlines()[-2:]
    assert carriers[0].split() == ["UA", "5", "4", "50.0%", "18.0", "min"]
    assert carriers[1].split() == ["AA", "1", "0", "0.0%", "0.0", "min"]


def test_the_ratio_is_said_whatever_it_is():
    measured = [
        Measured("BATCH", 300, 1.0, 2.0),
        Measured("STREAMING", 300, 3.0, 4.0),
        Measured("mixed", 300, 2.0, 5.0),
    ]
    assert ratio(measured) == 1.5
    assert (
        "mixed : STREAMING = 1.50 on history, one run each (goal 3: not reached)"
        in compare_text(measured)
    )

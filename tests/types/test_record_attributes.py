"""Attributes of records (FLIP-327, §2.4): defaults, and what several speakers say together."""

from __future__ import annotations

import logging

import pytest

from penstock.program.record_attributes import (
    RecordAttributes,
    RecordAttributesBuilder,
    combined_backlog,
)

STALE, LIVE = RecordAttributes(backlog=True), RecordAttributes(backlog=False)


# FLIP-327, rule 10.
@pytest.mark.parametrize(
    ("inputs", "backlog"),
    [([], False), ([LIVE], False), ([STALE], True), ([LIVE, STALE], True), ([LIVE, LIVE], False)],
)
def test_what_is_not_set_is_that_of_any_input_and_logged_as_a_detail(
    inputs: list[RecordAttributes], backlog: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "penstock"):
        assert RecordAttributesBuilder(inputs).build().is_backlog() is backlog
    assert [(log.levelno, log.getMessage()) for log in caplog.records] == [
        (logging.DEBUG, f"backlog is not set, so it is {backlog}")
    ]


@pytest.mark.parametrize("backlog", [False, True])
def test_what_is_set_counts_and_is_not_logged(
    backlog: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "penstock"):
        built = RecordAttributesBuilder([STALE]).set_backlog(backlog).build()
    assert built.is_backlog() is backlog
    assert not caplog.records


# FLIP-327, rule 11.
@pytest.mark.parametrize(
    ("said", "together"),
    [
        ([], None),
        ([None], None),
        ([False, None], None),
        ([True, None], True),
        ([False, True], True),
        ([False, False], False),
    ],
)
def test_one_speaker_in_backlog_decides_and_one_that_is_silent_is_waited_for(
    said: list[bool | None], together: bool | None
) -> None:
    assert combined_backlog(said) is together

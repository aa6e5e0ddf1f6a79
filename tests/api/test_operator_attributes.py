"""The builder of operator attributes: defaults of what is not set, in the log as details."""

from __future__ import annotations

import logging

import pytest

from penstock.datastream import OperatorAttributesBuilder


def test_what_is_not_set_has_its_default_and_is_logged_as_a_detail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, "penstock"):
        made = OperatorAttributesBuilder().set_internal_sorter_supported(True).build()
    assert made.internal_sorter_supported is True
    assert made.output_stream_record_value_stored is True
    assert made.output_only_after_end_of_stream is False
    told = [record.getMessage() for record in caplog.records]
    assert "output_stream_record_value_stored is not set, so it is True" in told
    assert not [text for text in told if text.startswith("internal_sorter_supported")]
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}

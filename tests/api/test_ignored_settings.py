"""Settings without effect that a user would wait for are told of, once."""

from __future__ import annotations

import pytest

from penstock.api.environment import ignored_settings
from penstock.common import Configuration
from penstock.config.accepted_options import ACCEPTED_PREFIXES, IGNORED_PREFIXES

REPORTER = {
    "metrics.reporter.prom.port": "9249",
    "metrics.reporter.jmx.port": "8789",
    "rest.port": "1",
}


def test_reporters_are_told_of_once(monkeypatch, caplog):
    monkeypatch.setattr(ignored_settings, "_logged", set())
    for _ in range(2):
        ignored_settings.log_ignored_settings(Configuration.from_dict(REPORTER))
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("reporter of metrics jmx has no effect: ")
    assert "metrics.log-interval" in message


@pytest.mark.parametrize("prefix", IGNORED_PREFIXES)
def test_each_of_them_says_what_holds_instead(prefix):
    assert prefix in ACCEPTED_PREFIXES

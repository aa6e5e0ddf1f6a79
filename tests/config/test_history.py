"""`execution.history`, the short name of Flink's interval of 0 during backlog."""

from __future__ import annotations

import pytest

from penstock.common import Configuration
from penstock.errors import ConfigError
from penstock.plan.options import plan_options

LONG = "execution.checkpointing.interval-during-backlog"


@pytest.mark.parametrize(
    ("settings", "is_batch"),
    [
        ({}, False),
        ({"execution.history": "batch"}, True),
        ({"execution.history": "BATCH", LONG: "0"}, True),
        ({"execution.history": "stream"}, False),
        ({"execution.history": "stream", LONG: "1 min"}, False),
        ({LONG: "0"}, True),
    ],
)
def test_how_history_is_read(settings, is_batch):
    assert plan_options(Configuration.from_dict(settings)).backlog_as_batch is is_batch


@pytest.mark.parametrize(
    "settings",
    [
        {"execution.history": "batch", LONG: "1 min"},
        {"execution.history": "stream", LONG: "0"},
        {"execution.history": "fast"},
    ],
)
def test_contradictions_are_refused(settings):
    with pytest.raises(ConfigError, match=r"execution\.history"):
        plan_options(Configuration.from_dict(settings))

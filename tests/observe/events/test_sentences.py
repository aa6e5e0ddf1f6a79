"""Each event has a sentence a person can read."""

from __future__ import annotations

from typing import get_args

import pytest

from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeValue,
    MeterValue,
)
from penstock.observe.events.job_events import (
    BatchProgress,
    ConfirmFailed,
    FunctionChanged,
    JobEvent,
    MetricsReported,
    MicroBatch,
    Repeating,
    Restarting,
    Resumed,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    SavepointFailed,
    SavepointTaken,
    StartedEmpty,
    Switched,
)
from penstock.observe.events.sentences import human_duration, instant, sentence

MAX_WATERMARK = 2**63 - 1

SENTENCES = [
    (RunStarted("history", "batch", "flights", bounded=True), "history: started, reads flights"),
    (BatchProgress(3, 1200, 61.0), "history: 3 of 1,200 tasks after 1 min 1 s"),
    (
        BatchProgress(3, 1200, 10.0, 5_000),
        "history: 3 of 1,200 tasks, 5,000 records, 500 records/s after 10.0 s",
    ),
    (
        RunFinished("history", "batch", 4_000_000, 3.2),
        "history: 4,000,000 records in 3.2 s (1,250,000 records/s)",
    ),
    (RunFinished("history", "batch", 1, 0.0), "history: 1 record in 0.0 s"),
    (RunFinished("history", "batch", 0, 2.0), "history: 0 records in 2.0 s"),
    (
        RunFinished("history", "batch", 0, 2.0, late_records={"totals": 1_200, "joined": 3}),
        "history: 0 records in 2.0 s; late records dropped: 3 by joined, 1,200 by totals",
    ),
    (
        RunFinished("history", "batch", 0, 2.0, "stopped"),
        "history: 0 records, stopped after 2.0 s",
    ),
    (RunFinished("history", "batch", 1, 8.0), "history: 1 record in 8.0 s (0.1 records/s)"),
    (
        Switched(0.8, 1_383_263_940_000),
        "switched in 0.8 s at watermark 2013-10-31T23:59:00Z",
    ),
    (Switched(0.8, None), "switched in 0.8 s"),
    (Switched(0.8, MAX_WATERMARK), "switched in 0.8 s at watermark end of input"),
    (RoundProgress(1, "live", 2.0, 300), "round 1: 300 records after 2.0 s"),
    (
        RoundFinished(
            0, "batch", 4_000, 2.0, behind=[{"source": "files", "ahead": 3, "unit": "files"}]
        ),
        "round 0: 4,000 records in 2.0 s (2,000 records/s), behind the old job by 3 files of files",
    ),
    (
        RoundFinished(1, "live", 0, 2.0),
        "round 1: 0 records in 2.0 s, not behind the old job",
    ),
    (
        RoundFinished(2, "live", 1, 0.5, is_last=True),
        "round 2: 1 record in 0.5 s (2.0 records/s), at the position of the old job, which has stopped",
    ),
    (Resumed("history was done"), "resumed: history was done"),
    (
        Restarting(2, 3, 1.0, "'count' raised"),
        "history: restarting (2 of 3) in 1.0 s because 'count' raised",
    ),
    (
        FunctionChanged("SUM", "totals", "the last start"),
        "the function of SUM (uid totals) differs from that in the last start; its state is kept",
    ),
    (
        StartedEmpty("orders", ["sum (uid often)", "sink new"]),
        "results lack the history of source orders, without which these begin: sum (uid often), sink new",
    ),
    (
        Repeating(2, 4),
        "history: again from the last commit (2 of 4) because Spark computed lost output again, and it differs",
    ),
    (Restarting(4, None, 90.0, "x"), "history: restarting (4) in 1 min 30 s because x"),
    (SavepointTaken("/sp/1", 0.41, stops=False), "history: savepoint /sp/1 in 0.4 s"),
    (
        SavepointTaken("/sp/1", 0.41, stops=True),
        "history: savepoint /sp/1 in 0.4 s, and the job stops",
    ),
    (SavepointFailed("no room"), "history: no savepoint, no room; the job goes on"),
    (
        ConfirmFailed("orders", "kafka failed on confirm: no answer\n  File x"),
        (
            "history: the confirmation of read positions to orders failed and is repeated, "
            "kafka failed on confirm: no answer"
        ),
    ),
    (
        MicroBatch(12, 1000, 5000, 0.5, 1500),
        "history: micro-batch 12, 1,000 records, 2,000 records/s, 5,000 in all, lag 1.5 s",
    ),
    (
        MicroBatch(0, 0, 0, 0.0, None),
        "history: micro-batch 0, 0 records, 0 in all",
    ),
    (
        MicroBatch(
            1,
            10,
            20,
            1.0,
            None,
            records_behind=5_000_000,
            files_behind=1,
            catch_up_seconds=200.4,
        ),
        (
            "history: micro-batch 1, 10 records, 10 records/s, 20 in all, 5,000,000 records behind, "
            "1 file behind, caught up in about 3 min 20 s"
        ),
    ),
    (
        MicroBatch(1, 10, 20, 1.0, None, records_behind=0, files_behind=0, catch_up_seconds=0.0),
        "history: micro-batch 1, 10 records, 10 records/s, 20 in all",
    ),
    (MetricsReported({}, {}), "history: no metrics"),
    (
        MetricsReported(
            {
                "m.seen": CounterValue(1200),
                "m.last": GaugeValue("x"),
                "m.events": MeterValue(3000, {0: 1.5, 1: 2.0}),
                "m.sizes": DistributionValue(3, 10, 1, 7),
                "m.none": DistributionValue(),
            },
            {"log_bytes": 4096},
            {"level-0.read": 1.234},
        ),
        (
            "history: m.events 3,000 (3.5/s), m.last x, m.none no values, m.seen 1,200, "
            "m.sizes 3 values, 1 to 7, mean 3.33333, state.log_bytes 4,096, "
            "seconds.level-0.read 1.23"
        ),
    ),
    (
        MicroBatch(0, 0, 0, 0.0, -MAX_WATERMARK),
        "history: micro-batch 0, 0 records, 0 in all",
    ),
]


@pytest.mark.parametrize(("event", "expected"), SENTENCES)
def test_sentence(event, expected):
    assert sentence(event, "history") == expected


def test_every_event_has_a_sentence_of_its_own():
    missing = [kind for kind in get_args(JobEvent) if kind not in sentence.registry]
    assert missing == []


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (3599, "59 min 59 s"),
        (3599.9, "1 h"),
        (47 * 3600, "47 h"),
        (48 * 3600, "2 days"),
        (4567 * 86_400, "4,567 days"),
        (-3, "-3.0 s"),
    ],
)
def test_human_duration(seconds, expected):
    assert human_duration(seconds) == expected


@pytest.mark.parametrize(
    ("epoch_ms", "expected"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_383_263_940_001, "2013-10-31T23:59:00.001Z"),
        (MAX_WATERMARK, "end of input"),
        (-(2**63), "start of input"),
    ],
)
def test_instant(epoch_ms, expected):
    assert instant(epoch_ms) == expected

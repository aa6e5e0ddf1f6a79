"""The check: what Spark SQL says is what the definitions say, and every alteration is noticed."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from examples.demo.answers import Answers
from examples.demo.check import check, expected_answers
from examples.demo.errors import DemoCheckError
from examples.demo.job import OUT_OF_ORDER, SILENCE_MS
from penstock.common import Configuration
from penstock.spark.session.factory import get_session

ANSWERS = Answers(
    {
        "aircraft": {("N1",): ("N1", 3, 3, 2, 2 / 3), (None,): (None, 1, 0, 0, None)},
        "routes": {("UA", "EWR"): ("UA", "EWR", 2, 2, 1, 62)},
    },
    Counter({("N1", 1, 2): 1, ("N2", 1, 2): 1}),
)


def test_equal_answers_pass():
    check(ANSWERS, ANSWERS)


def without_an_aircraft(last, alerts):
    del last["aircraft"]["N1",]


def with_another_aircraft(last, alerts):
    last["aircraft"]["N9",] = ("N9", 1, 1, 0, 0.0)


def with_another_mean(last, alerts):
    last["aircraft"]["N1",] = ("N1", 3, 3, 2, 0.6666)


def with_another_total(last, alerts):
    last["routes"]["UA", "EWR"] = ("UA", "EWR", 2, 2, 1, 63)


def with_an_alert_twice(last, alerts):
    alerts["N1", 1, 2] += 1


def without_an_alert(last, alerts):
    del alerts["N1", 1, 2]


def with_an_alert_at_another_time(last, alerts):
    del alerts["N1", 1, 2]
    alerts["N1", 1, 3] += 1


@pytest.mark.parametrize(
    ("alter", "named"),
    [
        (without_an_aircraft, r"aircraft: 1 differ, first \('N1',\) is None instead of"),
        (with_another_aircraft, r"aircraft: 1 differ, first \('N9',\)"),
        (with_another_mean, "0.6666"),
        (with_another_total, r"routes: 1 differ, first \('UA', 'EWR'\)"),
        (with_an_alert_twice, r"alerts: 1 differ, first \('N1', 1, 2\) is there 2 times"),
        (without_an_alert, r"\('N1', 1, 2\) is there 0 times instead of 1"),
        (with_an_alert_at_another_time, "alerts: 2 differ"),
    ],
)
def test_every_alteration_is_noticed_and_named(alter, named):
    last = {result: dict(rows) for result, rows in ANSWERS.last.items()}
    alerts = Counter(ANSWERS.alerts)
    alter(last, alerts)
    with pytest.raises(DemoCheckError, match=named):
        check(Answers(last, alerts), ANSWERS, "mode BATCH")


@pytest.mark.spark
def test_spark_sql_computes_totals_and_alerts(prepared, tmp_path):
    get_session(Configuration().set("parallelism.default", 2))  # as a job makes it
    ended = expected_answers([prepared.history, prepared.feed], ended=True)
    aircraft = ended.answers.last["aircraft"]
    assert aircraft["N1",] == ("N1", 3, 3, 2, 2 / 3)
    assert aircraft[None,] == (None, 1, 0, 0, None)
    assert ended.answers.last["routes"]["AA", "LGA"] == ("AA", "LGA", 3, 2, 0, 0)
    assert ended.flights == 5
    # N1: after New Year, after 1 November, and at the end; N2 once.
    assert Counter(alert[0] for alert in ended.answers.alerts) == {"N1": 3, "N2": 1}

    running = expected_answers([prepared.history, prepared.feed], ended=False)
    assert Counter(alert[0] for alert in running.answers.alerts) == {"N1": 2, "N2": 1}

    # A gap of exactly SILENCE is none, also at the watermark.
    gaps = tmp_path / "gaps.parquet"
    last_ms = 2 * SILENCE_MS + OUT_OF_ORDER.to_millis() + 1
    columns = {
        name: pa.array([value] * 3, pa.string())
        for name, value in (("carrier", "UA"), ("origin", "EWR"), ("tailnum", "N1"))
    }
    times = {"dep_ms": [0, SILENCE_MS, last_ms], "dep_delay": [0, 0, 0], "cancelled": [False] * 3}
    pq.write_table(pa.table({**columns, **times}), gaps)
    exact = expected_answers([gaps], ended=False)
    assert exact.answers.alerts == {("N1", SILENCE_MS, 2 * SILENCE_MS): 1}

"""The profile of a job: order, sums and the share that is Spark's."""

from __future__ import annotations

import json

import pytest

from penstock.metrics import profile as profile_module
from penstock.metrics import task_clock
from penstock.metrics.profile import PLACES, JobProfile

RESULTS = {
    "seconds.driver.wall": 10.0,
    "seconds.driver.job": 8.0,
    "seconds.driver.commit": 0.5,
    "seconds.level-1.operator.sum.of.all": 4.0,
    "seconds.level-1.decode": 1.0,
    "seconds.level-10.decode": 0.25,
    "seconds.level-2.decode": 0.5,
    "seconds.level-0.wait": 3.0,
    "seconds.level-0.read": 2.0,
    "seconds.sinks.write": 0.25,
    "sum.numRecordsIn": 5,
    "state.log_bytes": 7,
}


@pytest.fixture
def profile():
    return JobProfile.of(RESULTS, 2)


def test_places_and_sections_come_in_the_order_of_records(profile):
    assert [(each.place, each.section) for each in profile.spent] == [
        ("level-0", "read"),
        ("level-0", "wait"),
        ("level-1", "decode"),
        ("level-1", "operator.sum.of.all"),
        ("level-2", "decode"),
        ("level-10", "decode"),
        ("sinks", "write"),
    ]


def test_what_is_not_busy_is_spark(profile):
    assert profile.busy_seconds == 8.0
    assert profile.spark_seconds == 12.0
    assert profile.share(profile.busy_seconds) == 0.4


def test_workers_busier_than_slots_leave_spark_nothing():
    assert JobProfile.of({**RESULTS, "seconds.driver.wall": 1.0}, 2).spark_seconds == 0


def test_a_job_that_has_not_reported_has_an_empty_profile():
    profile = JobProfile.of({}, 2)
    assert (profile.busy_seconds, profile.spark_seconds, profile.share(1.0)) == (0, 0, 0)


def test_json_and_back(profile):
    assert JobProfile.from_json(json.loads(json.dumps(profile.to_json()))) == profile


def test_what_a_record_costs_adds_up_to_all_slots(profile):
    places = profile.by_place()
    assert sum(places.values()) == pytest.approx(profile.wall_seconds * profile.slots)
    assert (places["function"], places["decode"], places["reading"]) == (4.0, 1.75, 2.0)


def test_every_section_is_in_one_place():
    named = [section for sections in PLACES.values() for section in sections]
    assert sorted(named) == sorted({*profile_module._ORDER} - {task_clock.WAIT})

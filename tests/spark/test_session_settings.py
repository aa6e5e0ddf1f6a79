"""What becomes of `spark.*` keys of a job whose session is there already."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.errors import ConfigError
from penstock.spark.session.settings import check_settings


def test_what_cannot_be_set_any_more_is_refused_and_the_rest_is_told(
    session: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    def check(**settings: str) -> None:
        check_settings(session, Configuration.from_dict(settings))

    zone = "spark.sql.session.timeZone"
    before = session.conf.get(zone)
    check(**{zone: "Asia/Tokyo"})
    assert session.conf.get(zone) == before
    assert f"{zone}=Asia/Tokyo has no effect" in caplog.text
    check(**{"spark.master": session.conf.get("spark.master") or ""})
    with pytest.raises(ConfigError) as caught:
        check(**{"spark.driver.memory": "9g", "spark.hadoop.fs.s3a.endpoint": "http://x"})
    assert "spark.driver.memory=9g (it has 2g)" in caught.value.problem
    assert "spark.hadoop.fs.s3a.endpoint=http://x (which it does not have)" in caught.value.problem
    assert "spark-submit" in caught.value.hint


def test_java_options_that_the_session_was_made_with_are_no_other_ones(
    session: SparkSession,
) -> None:
    key = "spark.driver.extraJavaOptions"
    users, _, _ = (session.conf.get(key) or "").partition(' "-Djava.io.tmpdir=')
    check_settings(session, Configuration.from_dict({key: users}))
    with pytest.raises(ConfigError):
        check_settings(session, Configuration.from_dict({key: f"{users} -Xss4m"}))

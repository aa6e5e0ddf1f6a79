"""Checks the `spark.*` settings of a job whose session already exists."""

from __future__ import annotations

import logging

from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.errors import ConfigError

_logger = logging.getLogger("penstock")
_PREFIX = "spark."
_LOG_LEVEL = "spark.log.level"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
TEMPORARY_FILES = "-Djava.io.tmpdir="
"""Beginning of the Java option that is appended to the user's when a session is made."""


def check_settings(session: SparkSession, configuration: Configuration) -> None:
    """Check the job's `spark.*` keys in a session that was not made for it.

    The session is the program's, so only the level of its log is set. Settings that the program could
    set itself cause a warning.

    Raises:
        ConfigError: A setting is read only when a session is made, and has another value in this one.
    """
    wanted = {
        key: value
        for key, value in configuration.to_dict().items()
        if key.startswith(_PREFIX) and not _has(session, key, value)
    }
    level = wanted.pop(_LOG_LEVEL, None)
    if level is not None:
        session.sparkContext.setLogLevel(level)
    late = sorted(key for key in wanted if not session.conf.isModifiable(key))
    if late:
        listed = ", ".join(f"{key}={wanted[key]} ({_known(session, key)})" for key in late)
        raise ConfigError(
            f"the job runs in a session of Spark that is there already, and it is too late for "
            f"{listed}",
            hint="Say it where the session is made: in SparkSession.builder.config, or with "
            "--conf of spark-submit. Or let the job make the session.",
        )
    for key, value in sorted(wanted.items()):
        _logger.warning(
            "%s=%s has no effect: the session of Spark is there already (%s); "
            "call spark.conf.set in the program",
            key,
            value,
            _known(session, key),
        )


def _has(session: SparkSession, key: str, value: str) -> bool:
    has = session.conf.get(key, None)
    ours = key == JAVA_OPTIONS and has is not None and has.startswith(f'{value} "{TEMPORARY_FILES}')
    return ours or has == value


def _known(session: SparkSession, key: str) -> str:
    has = session.conf.get(key, None)
    return "which it does not have" if has is None else f"it has {has}"

"""The address and login of S3 that a session has for Hadoop."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from penstock.config.configuration import Configuration
from penstock.filesystem.s3_settings import S3Settings, settings_of_hadoop


def object_settings(session: SparkSession) -> S3Settings | None:
    """Return what `spark.hadoop.fs.s3a.*` says, None if it says nothing."""
    java_session: Any = session._jsparkSession  # noqa: SLF001 - no public way to Hadoop's options
    options = java_session.sessionState().newHadoopConf()
    found = settings_of_hadoop(options.get)
    return None if found == S3Settings() else found


def early_object_settings(configuration: Configuration) -> S3Settings:
    """Return the same before a job has its session: what its configuration says, or else the active session."""
    texts = configuration.to_dict()
    found = settings_of_hadoop(lambda key: texts.get(f"spark.hadoop.{key}"))
    # A client of Spark Connect has no JVM to ask; its job is refused when it wants a session.
    session = None if is_remote() else SparkSession.getActiveSession()
    if found == S3Settings() and session is not None:
        found = object_settings(session) or found
    return found

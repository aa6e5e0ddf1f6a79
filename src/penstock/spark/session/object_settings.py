"""The addresses and logins of stores that a session has for Hadoop."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from penstock.config.configuration import Configuration
from penstock.filesystem.azure_settings import AZURE_LOGINS
from penstock.filesystem.store_settings import StoreSettings, store_settings_of_hadoop

_HADOOP = "spark.hadoop."


def object_settings(session: SparkSession) -> StoreSettings | None:
    """Return what `spark.hadoop.fs.s3a.*`, `fs.azure.*` and `fs.gs.*` say, None if they say nothing."""
    java_session: Any = session._jsparkSession  # noqa: SLF001 - no public way to Hadoop's options
    options = java_session.sessionState().newHadoopConf()
    azure = options.getValByRegex(f"^{AZURE_LOGINS}$")
    # The end of a loop over a map of Java is an exception, for whose kind PySpark asks the JVM fourteen times.
    logins = {} if azure.isEmpty() else {key: azure[key] for key in azure}
    found = store_settings_of_hadoop(options.get, logins)
    return None if found == StoreSettings() else found


def early_object_settings(configuration: Configuration) -> StoreSettings:
    """Return the same before a job has its session: what its configuration says, or else the active session."""
    texts = configuration.to_dict()
    hadoop = {key[len(_HADOOP) :]: text for key, text in texts.items() if key.startswith(_HADOOP)}
    found = store_settings_of_hadoop(hadoop.get, hadoop)
    # A client of Spark Connect has no JVM to ask; its job is refused when it wants a session.
    session = None if is_remote() else SparkSession.getActiveSession()
    if found == StoreSettings() and session is not None:
        found = object_settings(session) or found
    return found

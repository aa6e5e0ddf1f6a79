"""Checks the `spark.*` settings of a job whose session already exists, and passes those of a new one to its JVM.

Secret settings, such as logins of stores, go in a file, because every user can read the JVM's command line:

    spark.hadoop.fs.s3a.secret.key   in a file of its owner's, removed once the JVM has read it
    spark.driver.memory              --conf on the command line

PySpark itself uses only the command line; `spark-submit` has `--properties-file`.
"""

from __future__ import annotations

import logging
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from penstock.config.configuration import Configuration, is_secret
from penstock.errors import ConfigError, EnvironmentSetupError
from penstock.filesystem.store_settings import AZURE_LOGINS, StoreSettings, store_settings_of_hadoop

_HADOOP = "spark.hadoop."


def object_settings(session: SparkSession) -> StoreSettings | None:
    """Return the settings `spark.hadoop.fs.s3a.*`, `fs.azure.*` and `fs.gs.*`, None if none is set."""
    java_session: Any = session._jsparkSession  # noqa: SLF001 - no public way to Hadoop's options
    options = java_session.sessionState().newHadoopConf()
    azure = options.getValByRegex(f"^{AZURE_LOGINS}$")
    # The end of a loop over a map of Java is an exception, for whose kind PySpark calls the JVM fourteen times.
    logins = {} if azure.isEmpty() else {key: azure[key] for key in azure}
    settings = store_settings_of_hadoop(options.get, logins)
    return None if settings == StoreSettings() else settings


def early_object_settings(configuration: Configuration) -> StoreSettings:
    """Return the same before a job has its session: from its configuration, or else the active session."""
    texts = configuration.to_dict()
    hadoop = {key[len(_HADOOP) :]: text for key, text in texts.items() if key.startswith(_HADOOP)}
    settings = store_settings_of_hadoop(hadoop.get, hadoop)
    # A client of Spark Connect has no JVM; its job is refused when it creates a session.
    session = None if is_remote() else SparkSession.getActiveSession()
    if settings == StoreSettings() and session is not None:
        settings = object_settings(session) or settings
    return settings


_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_DEFAULT = "pyspark-shell"
_FILE = "--properties-file"
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"} | {
    char: f"\\{char}" for char in " :=#!"
}


@contextmanager
def on_command_line(settings: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the settings for the JVM's command line; the secret ones are in a file.

    Inside the context `launch_gateway` starts a JVM that reads the file; afterwards the file is removed.
    """
    secret = {key: value for key, value in settings.items() if is_secret(key)}
    if not secret:
        yield dict(settings)
        return
    before = os.environ.get(_ARGUMENTS)
    arguments = shlex.split(before or _DEFAULT)
    if any(argument.partition("=")[0] == _FILE for argument in arguments):
        raise EnvironmentSetupError(
            f"{_ARGUMENTS} has {_FILE}, and so {sorted(secret)} would have to stand on a command line",
            hint="Put these settings into that file as well, and not into the configuration.",
        )
    with tempfile.TemporaryDirectory(prefix="penstock-") as directory:  # only its owner may read it
        path = Path(directory) / "spark.properties"
        path.write_text("".join(map(_line, secret.items())), encoding="ascii")
        added = [_FILE, str(path), "--load-spark-defaults", *arguments]
        os.environ[_ARGUMENTS] = shlex.join(added)
        try:
            yield {key: value for key, value in settings.items() if key not in secret}
        finally:
            if before is None:
                del os.environ[_ARGUMENTS]
            else:
                os.environ[_ARGUMENTS] = before


def _line(setting: tuple[str, str]) -> str:
    return "=".join(map(_escaped, setting)) + "\n"


def _escaped(text: str) -> str:
    """Return text as Java reads it from a file of properties."""
    return "".join(
        _ESCAPED.get(char) or (char if " " < char <= "~" else _utf16(char)) for char in text
    )


def _utf16(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(
        f"\\u{units[index] << 8 | units[index + 1]:04x}" for index in range(0, len(units), 2)
    )


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
    """
    missing = {
        key: value
        for key, value in configuration.to_dict().items()
        if key.startswith(_PREFIX) and not _has(session, key, value)
    }
    level = missing.pop(_LOG_LEVEL, None)
    if level is not None:
        session.sparkContext.setLogLevel(level)
    late = sorted(key for key in missing if not session.conf.isModifiable(key))
    if late:
        listed = ", ".join(f"{key}={missing[key]} ({_known(session, key)})" for key in late)
        raise ConfigError(
            f"the job runs in an existing Spark session, which cannot change {listed}",
            hint="Set it where the session is created: in SparkSession.builder.config, or with "
            "--conf of spark-submit. Or let the job create the session.",
        )
    for key, value in sorted(missing.items()):
        _logger.warning(
            "%s=%s has no effect in an existing Spark session (%s); "
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

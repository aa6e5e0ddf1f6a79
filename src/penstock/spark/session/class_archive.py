"""The archive of Spark's classes, with which a JVM starts faster.

A JVM that starts Spark reads, checks and links some 15,000 classes, which is half of the time until a small job
has its first output. An archive has them as they are after that, and is mapped into memory.

    ~/.cache/penstock/classes-<digest>.jsa      XDG_CACHE_HOME in place of ~/.cache

The digest is of what the JVM would check: which Java, which jars. An archive that does not fit is not used.
It takes ten seconds of a core, a gigabyte of memory and 160 MB of disk to make one, so that is done by
a command (`penstock prepare`), and by no job.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from penstock.spark.session.java_runtime import JavaRuntime, java_option

_OTHER_CLASSES = "spark.driver.extraClassPath"
"""With it the class path begins differently than that of the archive."""
_QUIET = "-Xlog:cds=off"
"""The JVM would print which classes it leaves out, thousands of lines."""


def archive_path(java: JavaRuntime, environ: Mapping[str, str]) -> Path:
    """Return where the archive for a Java runtime and the installed Spark is, or would be."""
    digest = hashlib.sha256(f"{java.path.resolve()} {java.version}\n".encode())
    for jar in sorted(Path(_find_spark_home(), "jars").glob("*.jar")):
        found = jar.stat()
        digest.update(f"{jar} {found.st_size} {found.st_mtime_ns}\n".encode())
    cache = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache, "penstock", f"classes-{digest.hexdigest()[:16]}.jsa")


def reading_options(java: JavaRuntime, settings: Mapping[str, str]) -> str:
    """Return the JVM's options for using the archive, empty if there is none that fits."""
    path = archive_path(java, os.environ)
    if _OTHER_CLASSES in settings or not path.exists():
        return ""
    return f"{java_option(f'-XX:SharedArchiveFile={path}')} {_QUIET}"


def writing_options(path: Path) -> str:
    """Return the JVM's options for writing an archive at its end."""
    return f"{java_option(f'-XX:ArchiveClassesAtExit={path}')} {_QUIET}"


def end_jvm() -> None:
    """Stop the session and wait until its JVM has ended, which writes the archive last."""
    session = SparkSession.getActiveSession()
    gateway = SparkContext._gateway  # noqa: SLF001 - there is no other way to its process
    if session is not None:
        session.stop()
    if gateway is not None:
        gateway.proc.stdin.close()  # what a JVM sees of the end of its parent
        gateway.proc.wait()

"""The Java runtime that Spark would start: that of JAVA_HOME, otherwise the one on the PATH."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EnvironmentSetupError

MIN_JAVA = 17
"""The oldest version that Spark 4 runs with."""

_HINT = "Install one, on Debian with `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME to one."
_VERSION = re.compile(r'version "(\d+)[^"]*"')


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A usable Java runtime."""

    path: Path
    version: str


def find_java(environ: Mapping[str, str]) -> JavaRuntime:
    """Return the Java runtime that Spark would start."""
    java_home = environ.get("JAVA_HOME")
    named = shutil.which("java", path=environ.get("PATH"))
    java = str(Path(java_home) / "bin" / "java") if java_home else named
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME={java_home}" if java_home else "PATH"
        raise EnvironmentSetupError(f"there is no Java runtime in {where}", hint=_HINT)
    ran = subprocess.run(  # noqa: S603 - the path of a Java, no shell
        [java, "-version"], capture_output=True, text=True, check=False
    )
    match = _VERSION.search(ran.stderr + ran.stdout)
    if match is None or int(match[1]) < MIN_JAVA:
        version = match[1] if match else "unknown"
        raise EnvironmentSetupError(
            f"Java at {java} has version {version}; Spark needs {MIN_JAVA} or later", hint=_HINT
        )
    return JavaRuntime(Path(java), match[0].removeprefix("version ").strip('"'))


def java_option(option: str) -> str:
    r"""Return an option of Java as Spark's launcher takes it: between quotes, whatever its path is named.

    Example:
        >>> java_option(r'-Da=b "c" \d')
        '"-Da=b \\"c\\" \\\\d"'
    """
    return '"' + option.replace("\\", r"\\").replace('"', r"\"") + '"'

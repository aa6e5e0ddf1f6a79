"""Checks of what is installed: the package itself, Python, Spark, Java, libraries, workers, extras."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from penstock.cli.doctor.finding import Finding, Situation, fail, ok, warn
from penstock.errors import EnvironmentSetupError
from penstock.extras import DISTRIBUTION, EXTRAS, install_command
from penstock.spark.session.java_runtime import find_java
from penstock.version import __version__

Version = tuple[int, int]

TESTED: dict[Version, tuple[Version, ...]] = {
    (3, 11): ((4, 2), (4, 3)),
    (3, 12): ((4, 3),),
    (3, 13): ((4, 3),),
}
"""Python to the versions of Spark with which the tests of `make test-matrix` have passed."""

LEAST_SPARK: Version = (4, 2)
"""An older one lacks what jobs need."""

LIBRARIES = ("pyarrow", "pandas", "numpy", "protobuf", "cloudpickle", "lmdb", "rich", "typer")
"""The distributions, beside PySpark, that jobs and the command line need."""

_OTHER = "penstock"
"""Another project's package, which has modules under our name."""

_FACTS = """
import json, platform
from importlib.util import find_spec
from importlib.metadata import PackageNotFoundError, version
def found(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
print(json.dumps({
    "python": platform.python_version(),
    "penstock": find_spec("penstock") is not None,
    "cloudpickle": found("cloudpickle"),
    "pyspark": found("pyspark"),
}))
"""
_SECONDS = 60


def package(_: Situation) -> Finding:
    """Check that no other package writes over our modules."""
    name = "package"
    version = _version(_OTHER)
    if version is not None and _has_modules(_OTHER):
        return fail(
            name,
            f"the package {_OTHER} {version} of another project is in this environment; its files and "
            f"those of {DISTRIBUTION} overwrite each other",
            f"Remove both, and install one: pip uninstall --yes {_OTHER} {DISTRIBUTION}; "
            + install_command(),
        )
    return ok(name, f"{DISTRIBUTION} {__version__}, in {Path(__file__).parents[1]}")


def python(_: Situation) -> Finding:
    """Check that this version of Python is tested."""
    version = ".".join(map(str, sys.version_info[:3]))
    if _own_python() not in TESTED:
        tested = ", ".join(map(_dotted, TESTED))
        return warn("python", f"Python {version} is not tested", f"Use Python {tested}.")
    return ok("python", f"Python {version}, {sys.executable}")


def spark(situation: Situation) -> Finding:
    """Check the version of PySpark, and that SPARK_HOME has the same one."""
    name = "spark"
    version = _version("pyspark")
    install = f"pip install 'pyspark>={_dotted(LEAST_SPARK)},<5'"
    if version is None:
        return fail(name, "PySpark is not installed", install)
    spark = _numbers(version)
    if spark < LEAST_SPARK:
        return fail(name, f"PySpark {version} is too old", install)
    home = situation.environ.get("SPARK_HOME")
    at_home = None if home is None else _version_of_home(Path(home))
    if home is not None and at_home is None:
        return fail(name, f"SPARK_HOME={home} has no Spark", "Unset SPARK_HOME, or set it to one.")
    if at_home is not None and _numbers(at_home) != spark:
        return fail(
            name,
            f"SPARK_HOME={home} has Spark {at_home}, and PySpark is {version}",
            f"Unset SPARK_HOME, or install the same: pip install pyspark=={at_home}",
        )
    own = _own_python()
    tested = TESTED.get(own, ()) or sorted(
        {python for sparks in TESTED.values() for python in sparks}
    )
    if spark not in tested:
        return warn(
            name,
            f"PySpark {version} is not tested with Python {_dotted(own)}",
            f"Use PySpark {' or '.join(map(_dotted, tested))}.",
        )
    return ok(name, f"PySpark {version}" + ("" if home is None else f", SPARK_HOME={home}"))


def java(situation: Situation) -> Finding:
    """Check that Spark finds a Java runtime that is new enough."""
    try:
        java = find_java(situation.environ)
    except EnvironmentSetupError as error:
        return fail("java", error.problem, error.hint or "")
    return ok("java", f"Java {java.version}, {java.path}")


def libraries(_: Situation) -> Finding:
    """Check that everything the package needs is installed."""
    versions = {name: _version(name) for name in LIBRARIES}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        return fail(
            "libraries",
            f"not installed: {', '.join(missing)}",
            f"{install_command()} --force-reinstall",
        )
    return ok("libraries", ", ".join(f"{name} {version}" for name, version in versions.items()))


def extras(_: Situation) -> Finding:
    """Check that extras are installed as a whole."""
    installed: list[str] = []
    broken: list[str] = []
    for extra in EXTRAS.values():
        versions = {name: _version(name) for name in extra.distributions}
        missing = [name for name, version in versions.items() if version is None]
        if not missing:
            listed = ", ".join(f"{name} {version}" for name, version in versions.items())
            installed.append(f"{extra.name} ({listed})")
        elif len(missing) < len(versions):
            broken.append(f"{extra.name} lacks {', '.join(missing)}")
    if broken:
        named = [EXTRAS[extra.partition(" ")[0]].install_command for extra in broken]
        return warn("extras", "; ".join(broken), "; ".join(named))
    return ok("extras", "; ".join(installed) or f"none of {', '.join(EXTRAS)}")


def workers(situation: Situation) -> Finding:
    """Check that workers have the Python of the driver, and Penstock."""
    name = "workers"
    executable = situation.environ.get("PYSPARK_PYTHON", sys.executable)
    try:
        facts = _of_interpreter(executable, situation)
    except (OSError, subprocess.SubprocessError, ValueError) as cause:
        return fail(
            name,
            f"the interpreter of workers, {executable}, does not run: {cause}",
            "Set PYSPARK_PYTHON to an interpreter that every worker has, or unset it.",
        )
    ours = ".".join(map(str, sys.version_info[:2]))
    if not str(facts["python"]).startswith(f"{ours}."):
        return fail(
            name,
            f"workers have Python {facts['python']} ({executable}), and the driver {ours}",
            f"Set PYSPARK_PYTHON to a Python {ours}, or unset it.",
        )
    if not facts["penstock"]:
        return fail(
            name,
            f"the interpreter of workers, {executable}, has no Penstock",
            f"Install it there: {executable} -m {install_command()}",
        )
    for library in ("cloudpickle", "pyspark"):
        if facts[library] != _version(library):
            return fail(
                name,
                f"workers have {library} {facts[library]}, and the driver {_version(library)}",
                f"Install the same: {executable} -m pip install {library}=={_version(library)}",
            )
    return ok(name, f"Python {facts['python']}, {executable}")


def _of_interpreter(executable: str, situation: Situation) -> dict[str, str | None]:
    ran = subprocess.run(  # noqa: S603 - the interpreter that Spark would start
        [executable, "-c", _FACTS],
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
        env=dict(situation.environ),
    )
    answer: dict[str, str | None] = json.loads(ran.stdout)
    return answer


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _has_modules(name: str) -> bool:
    """Return whether a distribution has files in the folder of our modules."""
    files = metadata.distribution(name).files or ()
    return any(path.parts[0] == "penstock" for path in files)


def _numbers(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version.

    Examples:
        >>> _numbers("4.3.0.dev1")
        (4, 3)
    """
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)


def _own_python() -> Version:
    major, minor, *_ = sys.version_info
    return major, minor


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _version_of_home(home: Path) -> str | None:
    """Return the version of the Spark in a directory, by the name of its core."""
    names = [path.name for path in home.glob("jars/spark-core_*.jar")]
    return names[0].removesuffix(".jar").partition("-")[2].partition("-")[2] if names else None

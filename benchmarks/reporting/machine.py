"""Where and with what a result was measured."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from benchmarks.systems.flink_peers import flink_version
from benchmarks.systems.launch import CHECKOUT
from penstock.version import __version__

PACKAGES = ("pyspark", "pyarrow", "numpy", "pandas", "cloudpickle")


def machine() -> dict[str, str | int]:
    """Return processor, cores this process may use, memory and system."""
    return {
        "cpu": _cpu(),
        "cores": cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0))


def versions() -> dict[str, str | None]:
    """Return versions of Penstock, Python, Java, the packages that matter, and the Flink of peers."""
    found: dict[str, str | None] = {
        "penstock": __version__,
        "python": platform.python_version(),
        "java": _java(),
    }
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    found["apache-flink"] = flink_version()
    return found


def commit() -> str | None:
    """Return the commit of the checkout, with `+` if files differ but results; None outside of one."""
    if not (CHECKOUT / ".git").exists():
        return None
    revision = _output("git", "-C", str(CHECKOUT), "rev-parse", "HEAD")
    # A result that was appended is no change of what is measured next.
    paths = (".", ":(exclude)benchmarks/results")
    changed = _output(
        "git", "-C", str(CHECKOUT), "status", "--porcelain", "--untracked-files=no", "--", *paths
    )
    return f"{revision}+" if revision and changed else revision


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text(encoding="utf-8") if information.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or "unknown"


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    text = _output(str(Path(home) / "bin" / "java") if home else "java", "-version")
    found = re.search(r'version "([^"]+)"', text or "")
    return found[1] if found else None


def _output(*command: str) -> str | None:
    """Return what a command says, None if it is not there or fails."""
    if shutil.which(command[0]) is None:
        return None
    ran = subprocess.run(  # noqa: S603 - commands of this module, no shell
        command, capture_output=True, text=True, check=False
    )
    return (ran.stdout + ran.stderr).strip() if ran.returncode == 0 else None

"""`python.requirements`: pip installs the packages once per content, for all jobs of a user."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.errors import EnvironmentSetupError

_SHOWN = 2_000


def installed_requirements(file: Path, packages: Path | None) -> Path:
    """Return a directory with the packages of a `requirements.txt`; install them if necessary.

    It is below `$XDG_CACHE_HOME/penstock`, by default `~/.cache/penstock`, and is not removed.

    Raises:
        EnvironmentSetupError: pip cannot install them.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"
    target = cache / "requirements" / _content(file, packages)
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=target.parent, prefix="installing-"))
    except OSError as cause:
        raise EnvironmentSetupError(
            f"the requirements in {file} cannot be installed in {target.parent}: {cause}",
            hint="Set XDG_CACHE_HOME to a directory this user may write to.",
        ) from cause
    try:
        _install(file, packages, made)
        if not target.exists():  # another process may have been faster
            made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def _content(file: Path, packages: Path | None) -> str:
    found = hashlib.sha256(f"{sys.version_info[:2]} {sys.platform}\n".encode())
    found.update(file.read_bytes())
    for package in sorted(packages.iterdir()) if packages is not None else ():
        if package.is_file():
            found.update(f"\n{package.name} ".encode())
            found.update(hashlib.sha256(package.read_bytes()).digest())
    return found.hexdigest()[:32]


def _install(file: Path, packages: Path | None, target: Path) -> None:
    offline = [] if packages is None else ["--no-index", "--find-links", str(packages)]
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--no-input", "--target", str(target), "--requirement", str(file)),
        *offline,
    ]
    ran = subprocess.run(  # noqa: S603 - pip of this interpreter, no shell
        command, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise EnvironmentSetupError(
            f"pip cannot install {file}:\n{(ran.stderr or ran.stdout).strip()[-_SHOWN:]}",
            hint="Correct the file, or complete the directory of packages beside it.",
        )

"""Build the source distribution, the wheel from it, and a requirement file with their digests.

    python -m tools.dist [DIRECTORY]

The wheel is built from the unpacked source distribution: what a release lacks, it lacks at once. Nothing is
downloaded: the builder is that of this environment.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from penstock.extras import DISTRIBUTION
from penstock.version import __version__

ROOT = Path(__file__).parents[1]
_STEM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}"
_NAMES = {"sdist": f"{_STEM}.tar.gz", "wheel": f"{_STEM}-py3-none-any.whl"}
REQUIREMENT = f"{DISTRIBUTION}.txt"
"""Name of the requirement file, for `pip install --require-hashes`."""


def build(target: Path) -> tuple[Path, Path]:
    """Build both into a directory, and write the requirement file; return source and wheel."""
    target.mkdir(parents=True, exist_ok=True)
    source = _built("sdist", ROOT, target)
    with tempfile.TemporaryDirectory() as unpacked:
        with tarfile.open(source) as archive:
            archive.extractall(unpacked, filter="data")
        (root,) = Path(unpacked).iterdir()
        wheel = _built("wheel", root, target)
    (target / REQUIREMENT).write_text(requirement(source, wheel), encoding="utf-8")
    return source, wheel


def requirement(*files: Path) -> str:
    """Return the lines of a requirement file that accepts these files of this version only."""
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
    hashes = [f"    --hash=sha256:{digest}" for digest in digests]
    return " \\\n".join([f"{DISTRIBUTION}=={__version__}", *hashes]) + "\n"


def _built(kind: str, root: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    done = subprocess.run(  # noqa: S603 - our own builder
        command, cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"The {kind} cannot be built:\n{done.stdout}{done.stderr}")
    return target / _NAMES[kind]


if __name__ == "__main__":
    for made in build(Path(*sys.argv[1:2] or ["dist"]).absolute()):
        print(made)  # noqa: T201 - the output of this tool

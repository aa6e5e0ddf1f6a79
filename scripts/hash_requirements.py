"""Write the SHA-256 of every file pip may install into the pinned requirements.

    .venv/bin/python scripts/hash_requirements.py

Run it after a pin was changed. The digests are those the package index publishes; which index that is is
pip's own default or what pip was told, and no address of it is written. Files for Pythons or
systems that are not supported are left out; source distributions are kept, for systems without a wheel.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
_PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([0-9][0-9a-z.]*)")
_PYTHONS = re.compile(r"(py2\.py3|py3|py31[123]|cp31[123])$")
_OLDER_STABLE = re.compile(r"cp3([0-9]|1[0-3])$")  # of wheels with a stable ABI
_SYSTEMS = re.compile(r"(any|(manylinux|linux|musllinux|macosx)_.*|manylinux(1|2010|2014)_.*)$")
_MACHINES = re.compile(r"(any|.*_(x86_64|aarch64|arm64|universal2))$")


def main() -> None:
    """Rewrite the files in place."""
    index = _index()
    for path in sorted(REQUIREMENTS.glob("*.txt")):
        lines = [line for line in path.read_text().splitlines() if not line.startswith("    --")]
        pins = [found for line in lines if (found := _PIN.match(line)) is not None]
        with ThreadPoolExecutor(8) as pool:
            published = pool.map(lambda pin: digests(index, pin[1], pin[2]), pins)
            of_pin = dict(zip([pin[0] for pin in pins], published, strict=True))
        path.write_text("".join(f"{line}\n" for line in with_digests(lines, of_pin)))


def digests(index: str, name: str, version: str) -> list[str]:
    """Return the digests of the files of one version that a supported system may install."""
    page = f"{index.rstrip('/')}/{canonicalize_name(name)}/"
    links = _Links()
    with urllib.request.urlopen(page, timeout=120) as answer:  # noqa: S310 - the address is pip's
        links.feed(answer.read().decode())
    found = {digest for filename, digest in links.found if is_used(filename, version)}
    if not found:
        sys.exit(f"The index has no file of {name} {version} for a supported system.")
    return sorted(found)


class _Links(HTMLParser):
    """The files of an index page and their digests, `.../NAME#sha256=DIGEST`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = urlsplit(dict(attrs).get("href") or "")
        if tag == "a" and target.fragment.startswith("sha256="):
            filename = unquote(target.path.rpartition("/")[2])
            self.found.append((filename, target.fragment.removeprefix("sha256=")))


def is_used(filename: str, version: str) -> bool:
    """Return whether a file is of this version, and a supported system may install it."""
    try:
        if filename.endswith(".whl"):
            _, of, _, tags = parse_wheel_filename(filename)
            return of == Version(version) and any(map(is_supported, tags))
        return parse_sdist_filename(filename)[1] == Version(version)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return False


def is_supported(tag: Tag) -> bool:
    """Return whether a wheel with this tag runs where Penstock does."""
    python = _OLDER_STABLE if tag.abi == "abi3" else _PYTHONS
    return (
        python.match(tag.interpreter) is not None
        and not tag.abi.endswith("t")  # without the interpreter's lock
        and _SYSTEMS.match(tag.platform) is not None
        and _MACHINES.match(tag.platform) is not None
    )


def with_digests(lines: list[str], of_pin: dict[str, list[str]]) -> list[str]:
    """Return the lines of a file with the digests behind each pin."""
    made: list[str] = []
    for line in lines:
        pin = line.removesuffix(" \\")
        hashes = [f"    --hash=sha256:{digest}" for digest in of_pin.get(pin, [])]
        made += " \\\n".join([pin, *hashes]).splitlines()
        if not line:
            made.append(line)
    return made


def _index() -> str:
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    if told.returncode == 0:
        return told.stdout.strip()
    from pip._internal.models.index import PyPI  # noqa: PLC0415 - pip's own default

    return PyPI.simple_url


if __name__ == "__main__":
    main()

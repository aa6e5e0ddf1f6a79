"""A real browser: Debian's Chromium, driven by playwright, without a profile of anybody's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import BrowserContext, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""The programs that are looked for."""

_ARGUMENTS = (
    "--headless",
    "--no-sandbox",  # a sandbox needs rights that containers lack; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def installed_browser() -> Path | None:
    """Return the browser of this machine, None if it has none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return None if found is None else Path(found)


@contextmanager
def browser(program: Path) -> Iterator[BrowserContext]:
    """Start a browser with an empty profile, and end it.

    Args:
        program: As `installed_browser` returns it.
    """
    with (
        TemporaryDirectory(prefix="penstock-browser-", ignore_cleanup_errors=True) as profile,
        sync_playwright() as playwright,
    ):
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=program, args=list(_ARGUMENTS)
        )
        try:
            yield context
        finally:
            context.close()

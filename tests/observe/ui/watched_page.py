"""A page in a browser, watched for what must not happen: errors, and requests to anybody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WRONG = {"error", "warning"}


@contextmanager
def watched_page(
    context: Any, url: str, *, width: int = 1100, height: int = 900, scheme: str = "light"
) -> Iterator[Any]:
    """Open a page; at its end, assert that nothing went wrong.

    Args:
        context: Of the fixture `chromium`.
        url: Of the page.
        width: Of its window.
        height: Of its window.
        scheme: `light` or `dark`.
    """
    page = context.new_page()
    wrong: list[str] = []
    own = url.partition("/#")[0]
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("console", lambda told: wrong.extend([told.text] * (told.type in _WRONG)))
    page.on("request", lambda asked: wrong.extend([asked.url] * (not asked.url.startswith(own))))
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": height})
    try:
        page.goto(url)
        yield page
        assert wrong == []
    finally:
        page.close()

"""Take the pictures of the page that the documentation shows.

python -m tools.support.screenshots DIRECTORY
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Page

from penstock.observe.events.job_events import JobEnded, JobEvent, MetricsReported, MicroBatch
from penstock.observe.events.job_view import JobView
from penstock.observe.ui.access import own_names
from penstock.observe.ui.job_controls import Answer, JobAction, JobControls
from penstock.observe.ui.server import UiServer
from tools.support.browser import browser, installed_browser
from tools.support.recorded_job import failed, recorded, upgraded

Shown = tuple[UiServer, Callable[[], object]]

_LATER = 8
"""So many events of a job that runs come when its page is open: speeds are measured between two reports."""


def main() -> None:
    """Write page.png, page-narrow.png, page-failure.png and page-upgrade.png, of jobs that were recorded."""
    program = installed_browser()
    if program is None:
        sys.exit("There is no browser here: see scripts/ensure_chromium.sh.")
    target = Path(sys.argv[1])
    with browser(program) as context:
        with shown(recorded(time.time_ns() // 1_000_000)) as job:
            take(context, job, target / "page.png", width=1100)
        with shown(recorded(time.time_ns() // 1_000_000)) as job:
            take(context, job, target / "page-narrow.png", width=400, is_dark=True)
        with shown(failed(time.time_ns() // 1_000_000)) as job:
            take(context, job, target / "page-failure.png", width=1100, height=420)
        with shown(upgraded(time.time_ns() // 1_000_000)) as job:
            take(context, job, target / "page-upgrade.png", width=1100, height=590)


@contextmanager
def shown(events: Sequence[JobEvent]) -> Iterator[Shown]:
    """Serve the page of a job; yield the server, and what makes the job report once more, so that there are speeds.

    Args:
        events: What the job says of itself.
    """
    later = events[-_LATER:] if isinstance(events[-1], (MicroBatch, MetricsReported)) else []
    view = JobView.of(events[: len(events) - len(later)])
    controls = JobControls()
    if not isinstance(events[-1], JobEnded):
        controls.add(events[0].job_id, dict.fromkeys(JobAction, _never))
    server = UiServer(lambda: [view], "127.0.0.1", 0, own_names(), controls)
    try:
        yield server, lambda: deque(map(view.on_event, later), maxlen=0)
    finally:
        server.close()


def take(
    context: BrowserContext,
    job: Shown,
    path: Path,
    *,
    width: int,
    height: int | None = None,
    is_dark: bool = False,
) -> None:
    """Take one picture; without a height of the whole page."""
    page: Page = context.new_page()
    page.emulate_media(color_scheme="dark" if is_dark else "light")
    page.set_viewport_size({"width": width, "height": height or 900})
    server, report = job
    page.goto(server.secret_url)
    page.wait_for_selector("#graph svg")
    report()
    page.wait_for_timeout(2_500)
    page.screenshot(path=path, full_page=height is None)
    page.close()


def _never() -> Answer:
    return Future[None]()


if __name__ == "__main__":
    main()

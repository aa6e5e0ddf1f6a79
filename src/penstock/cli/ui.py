"""`penstock ui`: the page of a job that runs elsewhere, or is over."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.cli.job_observer import JobObserver, JobRequests
from penstock.cli.parameters import JobDir, Verbose
from penstock.cli.run import RUN_PORT
from penstock.observe.events.job_view import LOST, OVER, JobView
from penstock.observe.ui.access import own_names
from penstock.observe.ui.job_controls import JobControls
from penstock.observe.ui.server import UiServer


class _ShownJob:
    """A job that another process runs. Thread-safe: several threads respond to requests.

    Attributes:
        controls: True if the page may request actions.
    """

    def __init__(self, job_dir: Path) -> None:
        self._observer = JobObserver.at(job_dir)
        self._requests = JobRequests(self._observer.job.path)
        self._lock = threading.Lock()
        self.controls = JobControls()

    def views(self) -> tuple[JobView, ...]:
        """Return the view of the job now."""
        with self._lock:
            view = self._observer.view()
            if view.state in {*OVER, LOST}:
                self._requests.give_up()
                self.controls.remove(view.job_id)
            else:
                self.controls.add(view.job_id, self._requests.control)
            return (view,)


def ui(
    job_dir: JobDir,
    *,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65_535, metavar="PORT", help="Port of the page; 0 is any free one."
        ),
    ] = RUN_PORT,
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on; readers need no login.")
    ] = "127.0.0.1",
    host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Further host name of the page, such as that of a proxy before it. Repeatable.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Show the page of a job that runs elsewhere, or is over, until Ctrl-C.

    It is made of the events in the checkpoint directory, and reads nothing unless somebody looks. The whole printed
    address gives the right to take savepoints, and to stop the job with one; others may read.
    """
    console = Console(stderr=True)

    def action() -> int:
        job = _ShownJob(job_dir)
        server = UiServer(job.views, address, port, own_names(host or ()), job.controls)
        typer.echo(server.address_for(is_terminal=sys.stdout.isatty()))
        try:
            threading.Event().wait()
        finally:
            server.close()
        return 0

    raise typer.Exit(
        exit_status(action, console, verbose=verbose, advice=lambda _: "the job goes on")
    )

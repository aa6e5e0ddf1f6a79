"""Where the time of a job went, as a table for people."""

from __future__ import annotations

from rich.table import Table

from penstock.metrics.profile import JobProfile
from penstock.metrics.task_clock import OPERATOR

_WIDTH = 90
"""Room for the lines above and below the table."""


def profile_table(profile: JobProfile, of: str) -> Table:
    """Return a row per section that took time; shares are of all slots over the wall clock.

    Args:
        profile: Of the job.
        of: What ran, for the title.
    """
    table = Table(
        title=f"Where the time went: {of} ({profile.slots} slots, "
        f"{profile.wall_seconds:.2f} s wall clock)",
        title_justify="left",
        title_style="bold",
        min_width=_WIDTH,
    )
    for name in ("where", "what"):
        table.add_column(name, overflow="fold")
    for name in ("s of all slots", "share"):
        table.add_column(name, justify="right")
    before = ""
    for spent in profile.spent:
        if spent.is_busy:
            place = "" if spent.place == before else spent.place
            what = spent.section.removeprefix(OPERATOR)
            _add(table, profile, (place, what), spent.seconds)
            before = spent.place
    table.add_section()
    _add(table, profile, ("workers", "busy"), profile.busy_seconds)
    _add(table, profile, ("Spark", "the rest"), profile.spark_seconds)
    outside = max(0.0, profile.wall_seconds - profile.job_seconds - profile.commit_seconds)
    table.caption = (
        f"of the wall clock: {profile.job_seconds:.2f} s a Spark job ran, "
        f"{profile.commit_seconds:.2f} s sinks were committed, {outside:.2f} s between"
    )
    table.caption_justify = "left"
    return table


def _add(table: Table, profile: JobProfile, names: tuple[str, str], seconds: float) -> None:
    table.add_row(*names, f"{seconds:.3f}", f"{profile.share(seconds):.1%}")

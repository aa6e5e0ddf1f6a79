"""`penstock handover`: lets a job stop owning its sinks, and another one start to."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.cli.parameters import Definitions, ScriptArguments, ScriptPath, Verbose
from penstock.cli.plan import planned_by
from penstock.cli.savepoint import dim_on
from penstock.cli.script import run_to_end, settings
from penstock.config.configuration import set_process_overrides
from penstock.config.options import ADVANCE_TO, CHECKPOINT_DIR, RECOVERY_PATH, TARGET
from penstock.errors import HandOverError
from penstock.failpoint import failpoint
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.requested_savepoint import stop_for_successor
from penstock.spark.upgrade.handover import (
    SinkHandOver,
    behind,
    check_live,
    check_program,
    check_taker,
    record_hand_over,
    recorded_hand_over,
    taken_back,
)

_POLL_SECONDS = 0.2


def handover(
    dir_a: Annotated[
        Path,
        typer.Argument(
            metavar="DIR_A", show_default=False, help="The checkpoint directory of the job."
        ),
    ],
    dir_b: Annotated[
        Path,
        typer.Argument(
            metavar="DIR_B", show_default=False, help="The checkpoint directory of its shadow."
        ),
    ],
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    back: Annotated[
        bool,
        typer.Option(
            "--back", help="Give the sinks back to the job in DIR_A, whose program it is."
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Hand the sinks of a job over to its shadow, at one epoch, and run the shadow as the job.

    JOB.PY is the program that gets the sinks: that of the shadow, or with --back that of the job. Both jobs stop, and the
    program starts where the other one has stopped. The same command repeats an attempt that was interrupted.
    """
    console = Console(stderr=True)
    given = settings(definitions, verbose=verbose)
    giver, taker = (path.absolute() for path in ((dir_b, dir_a) if back else (dir_a, dir_b)))

    def action() -> int:
        hand_over = recorded_hand_over(giver, taker) or taken_back(giver, taker)
        if hand_over is None:
            for job in (giver, taker):
                check_live(job)
            check_taker(giver, taker)
            set_process_overrides("cli", given | {TARGET.key: "plan"})
            check_program(planned_by(script, arguments).plan, taker)
            hand_over = _handed_over(giver, taker, console)
        failpoint("handover.recorded")
        report = dim_on(console)
        report(f"the sinks of {giver} belong to {hand_over.directory} from {hand_over.at} on")
        chosen = {CHECKPOINT_DIR.key: str(hand_over.directory), RECOVERY_PATH.key: hand_over.begins}
        if hand_over.at != hand_over.begins:
            chosen[ADVANCE_TO.key] = hand_over.at
        return run_to_end(given | chosen, script, arguments, console, verbose=verbose)

    status = exit_status(
        action, console, verbose=verbose, advice=lambda _: "stopped; the same command goes on"
    )
    raise typer.Exit(status)


def _handed_over(giver: Path, taker: Path, console: Console) -> SinkHandOver:
    """Stop both jobs, the giver behind the taker, and record that the sinks are the taker's."""
    begins = _stopped(taker, console)
    failpoint("handover.taker-stopped")
    _await(giver, taker, console)
    position = _stopped(giver, console)
    failpoint("handover.giver-stopped")
    if ObservedJob.at(giver).is_running():
        dim_on(console)(f"waiting for the driver of {giver}, which has committed all, to end")
    while ObservedJob.at(giver).is_running():
        time.sleep(_POLL_SECONDS)
    return record_hand_over(giver, taker, begins, position)


def _stopped(job: Path, console: Console) -> str:
    return stop_for_successor(ObservedJob.at(job), dim_on(console))


def _await(giver: Path, taker: Path, console: Console) -> None:
    """Wait until the giver has read all that the taker has read."""
    report, reported = dim_on(console), ""
    while ahead := behind(giver, taker):
        text = "; ".join(f"source {e.source}: {e.ahead_b:,} {e.unit} to read" for e in ahead)
        if not ObservedJob.at(giver).is_running():
            raise HandOverError(
                f"{taker} has read more than {giver}, which does not run: {text}",
                hint="Start the job again, so that it reads as far, and repeat the command.",
            )
        if text != reported:
            report(f"waiting for {giver}: {text}")
            reported = text
        time.sleep(_POLL_SECONDS)

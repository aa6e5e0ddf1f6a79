"""Being stopped, by real signals to real processes."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.cli import main as command
from penstock.cli.failures import sigterm_as_interrupt

SOURCE = Path(penstock.__file__).parent.parent

WAITS = """
import time
from penstock.datastream import StreamExecutionEnvironment
from penstock.observe.events.job_events import MicroBatch, RunStarted
from penstock.observe.events.listeners import publish

def build():
    env = StreamExecutionEnvironment.get_execution_environment()
    DIRECTORY
    publish(RunStarted("live", "live", "numbers", False))
    publish(MicroBatch(0, 1, 1, 1.0, None))
    publish(MicroBatch(1, 1, 2, 1.0, None))
    print("ready", flush=True)
    time.sleep(60)

build()
"""
IN_PROGRAM = 'env.get_configuration().set("execution.checkpointing.dir", "/tmp/x")'
RESUMABLE = "stopped; start the same command again to resume\n"
LOST = "stopped; without execution.checkpointing.dir this job cannot be resumed\n"


def stop(path, number, *arguments):
    """Run the program, send the signal once it is ready, and return status and stderr."""
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", path, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE)},
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        text = process.stderr.read()
    return process.returncode, text


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_with_its_status_and_the_last_state(program, number, status):
    got, text = stop(program(WAITS.replace("DIRECTORY", "")), number)
    assert got == status
    assert text.endswith(f"live: micro-batch 1, 1 record, 1.0 records/s, 2 in all\n{LOST}")
    assert "Traceback" not in text


def test_resumable_by_the_program(program):
    _, text = stop(program(WAITS.replace("DIRECTORY", IN_PROGRAM)), signal.SIGTERM)
    assert text.endswith(RESUMABLE)


def test_resumable_by_the_command_line(program):
    path = program(WAITS.replace("DIRECTORY", ""))
    _, text = stop(path, signal.SIGINT, "-D", "execution.checkpointing.dir=/tmp/x")
    assert text.endswith(RESUMABLE)


def test_previous_handler_is_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with sigterm_as_interrupt():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_interrupt_before_there_is_a_command_has_a_status_only(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "enable_completion", interrupted)
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 130


def test_py4j_logs_no_interrupt(caplog):
    with sigterm_as_interrupt():
        logging.getLogger().error("KeyboardInterrupt while sending command.")
        logging.getLogger().error("another")
    assert [record.getMessage() for record in caplog.records] == ["another"]
    logging.getLogger().error("KeyboardInterrupt while sending command.")
    assert len(caplog.records) == 2

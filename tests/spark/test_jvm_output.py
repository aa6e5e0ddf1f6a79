"""What the JVM and its workers print reaches the user, without what says nothing about the job."""

from __future__ import annotations

import io

import pytest

from penstock.spark.session.jvm_output import pass_on

CLOSED = """Traceback (most recent call last):
  File "/pyspark.zip/pyspark/sql/streaming/python_streaming_source_runner.py", line 265, in main
    func_id = read_int(infile)
  File "/pyspark.zip/pyspark/serializers.py", line 604, in read_int
    raise EOFError
EOFError

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/pyspark.zip/pyspark/sql/streaming/python_streaming_source_runner.py", line 292, in main
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe
Exception ignored in: <_io.BufferedWriter name=5>
BrokenPipeError: [Errno 32] Broken pipe
"""
STOPPED = """Traceback (most recent call last):
  File "/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
USERS_PIPE = STOPPED.replace(
    "BrokenPipe", '  File "/home/me/job.py", line 3, in send\nBrokenPipe', 1
)
USERS = """Traceback (most recent call last):
  File "/home/me/job.py", line 3, in count
    1 / 0
ZeroDivisionError: division by zero

"""
LATE = CLOSED.replace(
    "raise EOFError\nEOFError", "raise X(\nx.PySparkRuntimeError: [CANNOT_OPEN_SOCKET] x"
)
READERS = CLOSED.replace("raise EOFError\nEOFError", "raise ValueError\nValueError: not a number")


@pytest.mark.parametrize(
    ("printed", "passed"),
    [
        ("hello\n\nworld\n", "hello\n\nworld\n"),
        ("a\n" + CLOSED + "b\n", "a\nb\n"),
        ("a\n" + LATE + "b\n", "a\nb\n"),
        ("a\n" + STOPPED + STOPPED + "b\n", "a\nb\n"),
        (USERS_PIPE + "b\n", USERS_PIPE + "b\n"),
        (USERS + "b\n", USERS + "b\n"),
        (CLOSED + USERS, USERS),
        ("Setting default log level to x\n\nb\n", "b\n"),
        ("Traceback (most recent call last):\n  cut", "Traceback (most recent call last):\n  cut"),
    ],
    ids=[
        "lines",
        "closed reader",
        "late reader",
        "stopped workers",
        "user's pipe",
        "user's traceback",
        "both",
        "chatter",
        "cut",
    ],
)
def test_lines_that_say_something_pass(printed, passed, capsys):
    pipe = io.BytesIO(printed.encode())
    pass_on(pipe, "stdout").join()
    assert capsys.readouterr().out == passed


def test_a_failure_of_a_reader_itself_passes(capsys):
    pass_on(io.BytesIO(READERS.encode()), "stderr").join()
    assert "ValueError: not a number" in capsys.readouterr().err

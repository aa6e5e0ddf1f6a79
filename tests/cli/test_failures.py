"""What errors look like, and which frames of a traceback are shown."""

from __future__ import annotations

import io
import re
import traceback
from pathlib import Path

import pytest
from rich.console import Console

import penstock
from penstock.cli.failures import error_text, exit_status, trimmed_traceback
from penstock.common import Configuration
from penstock.errors import CallSite, SinkError


def console(**options):
    file = io.StringIO()
    return Console(file=file, width=40, **options), file


def caught(action):
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError("nothing was raised")


def fails_inside_penstock():
    Configuration().layered("x", 5)  # type: ignore[arg-type]


def test_error_is_red_whole_and_unwrapped():
    error = SinkError(
        "cannot write to /a/folder/with/a/long/name [red]",
        hint="Make it.",
        origin=CallSite("j.py", 3, "f"),
    )
    output, file = console(force_terminal=True, color_system="standard")

    def fail():
        raise error

    assert exit_status(fail, output, verbose=False) == 1
    assert file.getvalue() == (
        "\x1b[1;31m[SINK]\x1b[0m\x1b[31m cannot write to /a/folder/with/a/long/name [red]\x1b[0m\n"
        "\x1b[31m  fix: Make it.\x1b[0m\n"
        "\x1b[31m  at: j.py:3 in f\x1b[0m\n"
    )


def test_notes_are_shown():
    error = SinkError("p", hint="h")
    error.add_note("record 17 of part-0")
    assert error_text(error).plain.splitlines()[-1] == "record 17 of part-0"


def test_frames_of_penstock_are_left_out_and_that_is_said():
    text = trimmed_traceback(caught(fails_inside_penstock))
    assert "in fails_inside_penstock" in text
    assert "configuration.py" not in text
    assert text.endswith("--verbose shows them)\n")


def test_nothing_is_said_when_the_error_is_the_programs_own():
    error = caught(lambda: 1 / 0)
    assert trimmed_traceback(error).endswith("ZeroDivisionError: division by zero\n")


def test_a_method_that_was_misspelt_is_guessed_as_python_does():
    text = trimmed_traceback(caught(lambda: Configuration().set_strin("x", "y")))  # type: ignore[attr-defined]
    assert re.search(r"no attribute 'set_strin'.*[Dd]id you mean:? 'set_string'\?\n$", text)
    other = trimmed_traceback(caught(lambda: Configuration().zzzzzz))  # type: ignore[attr-defined]
    assert other.endswith("no attribute 'zzzzzz'\n")


def test_causes_are_trimmed_too():
    def fail():
        try:
            fails_inside_penstock()
        except TypeError as cause:
            raise RuntimeError("outer") from cause

    text = trimmed_traceback(caught(fail))
    assert "configuration.py" not in text
    assert text.index("in fails_inside_penstock") < text.index("RuntimeError: outer")


def test_members_of_a_group_are_trimmed_too():
    def fail():
        raise ExceptionGroup("several", [caught(fails_inside_penstock)])

    text = trimmed_traceback(caught(fail))
    assert "in fails_inside_penstock" in text
    assert "configuration.py" not in text


def test_verbose_shows_every_frame():
    output, file = console()
    assert exit_status(lambda: fails_inside_penstock() or 0, output, verbose=True) == 1
    assert "configuration.py" in file.getvalue()


def test_status_of_the_action_is_returned():
    assert exit_status(lambda: 5, console()[0], verbose=False) == 5


def test_system_exit_passes():
    def leave():
        raise SystemExit(7)

    with pytest.raises(SystemExit):
        exit_status(leave, console()[0], verbose=False)


def test_verbose_tells_an_error_once_whose_thread_is_told_too():
    def refuse():
        raise SinkError("cannot write", hint="Make it.")

    def fail():
        error = caught(refuse)
        error.details = "".join(traceback.format_exception(error)).strip()
        raise error.with_traceback(None)

    output, file = console()
    assert exit_status(fail, output, verbose=True) == 1
    text = file.getvalue()
    assert "in refuse" in text
    assert text.count("[SINK] cannot write") == text.count("fix: Make it.") == 1


def test_a_statement_has_no_line_of_the_command_line():
    """Behind the command line are only frames of its libraries, and of the script that starts it."""

    def site_in(name):
        path = Path(penstock.__file__).parent / name
        found = {"CallSite": CallSite}
        exec(compile("site = CallSite.of_caller()", str(path), "exec"), found)  # noqa: S102
        return found["site"]

    assert site_in("cli/sql.py") is None
    assert site_in("sql/environment.py").filename == __file__

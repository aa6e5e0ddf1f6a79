"""A shell completes what the command line has.

bash is really asked; of zsh and fish it is only tested that their scripts ask the command line, and that it
answers what they ask.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import COMMAND, Shell

BIN = Path(sys.executable).parent

ASK_BASH = """
eval "$(penstock completion bash)"
complete -p penstock >&2
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_penstock_completion penstock
printf '%s\\n' "${COMPREPLY[@]}"
"""


def run(*command, **variables):
    # An installed command, whichever environment the tests have.
    environ = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["penstock", "sa"], {"sample", "savepoint"}),
        (["penstock", "state", ""], {"ls", "show", "diff", "drop"}),
        (["penstock", "doctor", "--j"], {"--job", "--json"}),
        (["penstock", "completion", "f"], {"fish"}),
    ],
)
def test_bash_completes(words, expected):
    done = run("bash", "-c", ASK_BASH, "bash", *words)
    assert "_penstock_completion" in done.stderr
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize("shell", list(Shell))
def test_a_script_asks_the_command_line(penstock, shell):
    result = penstock("completion", shell.value)
    assert result.exit_code == 0
    assert f"_PENSTOCK_COMPLETE=complete_{shell.value}" in result.stdout
    assert COMMAND in result.stdout


@pytest.mark.parametrize(
    ("shell", "variables"),
    [
        ("zsh", {}),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_the_command_line_answers(shell, variables):
    asked = {"_PENSTOCK_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "penstock sa"}
    done = run("penstock", **asked, **variables)
    assert "savepoint" in done.stdout
    assert "config" not in done.stdout


def test_another_shell_is_refused(penstock):
    result = penstock("completion", "tcsh")
    assert result.exit_code == 2
    assert "bash" in result.stderr

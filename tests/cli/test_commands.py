"""Texts and exit statuses of the commands, in this process."""

from __future__ import annotations

import json
import os
import sys
from pkgutil import resolve_name

import pytest

from penstock.cli import demo
from penstock.config.configuration import process_overrides
from penstock.config.options import ALL_OPTIONS
from penstock.errors import EnvironmentSetupError
from penstock.version import __version__

JOB = """
from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment

print("hello from the program")
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2, 3], Types.LONG())
numbers.map(lambda n: n + 1, Types.LONG()).name("add one").print()
env.execute("numbers")
print("never reached")
"""


def test_version(penstock):
    result = penstock("--version")
    assert (result.exit_code, result.stdout) == (0, f"penstock {__version__}\n")


@pytest.mark.parametrize("command", ["run", "plan", "demo", "config", "doctor", "init"])
def test_help_has_an_example(penstock, command):
    result = penstock(command, "--help")
    assert result.exit_code == 0
    assert f"Example: penstock {command}" in result.stdout


def test_config_lists_every_option(penstock):
    result = penstock("config")
    assert result.exit_code == 0
    assert [option.key for option in ALL_OPTIONS if option.key not in result.stdout] == []
    assert "spark.*" in result.stdout


def test_plan_is_the_only_thing_on_stdout(penstock, program):
    result = penstock("plan", program(JOB))
    assert result.exit_code == 0
    assert result.stdout.startswith("mode STREAMING")
    assert "add one" in result.stdout
    assert result.stderr == "hello from the program\n"


def test_plan_uses_the_settings_of_the_command_line(penstock, program):
    result = penstock("plan", program(JOB), "-D", "parallelism.default=7", "-Dpipeline.name=x")
    assert "parallelism 7" in result.stdout


def test_plan_plans_even_if_another_target_is_asked_for(penstock, program):
    result = penstock("plan", program(JOB), "-D", "execution.target=spark")
    assert result.exit_code == 0


def test_plan_as_mermaid(penstock, program):
    result = penstock("plan", program(JOB), "--mermaid")
    assert result.stdout.startswith("flowchart LR\n")


def test_plan_as_json(penstock, program):
    result = penstock("plan", program(JOB), "--json")
    assert "add one" in [node["type"] for node in json.loads(result.stdout)["nodes"]]


def test_plan_has_one_form(penstock, program):
    result = penstock("plan", program(JOB), "--json", "--mermaid")
    assert result.exit_code == 2
    assert "choose one of" in result.stderr


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)"])
def test_plan_of_a_program_without_a_job(penstock, program, ending):
    result = penstock("plan", program(f"x = 1\n{ending}"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("[CLI_NO_JOB]")


def test_plan_keeps_the_status_of_a_program_that_gives_up(penstock, program):
    assert penstock("plan", program("raise SystemExit(3)")).exit_code == 3


def test_run_with_target_plan_prints_the_plan(penstock, program):
    result = penstock("run", program(JOB), "-D", "execution.target=plan")
    assert result.exit_code == 0
    assert "decisions" in result.stdout
    assert "never reached" not in result.stdout


def test_run_passes_arguments(penstock, program):
    path = program("import sys; print(sys.argv)")
    result = penstock("run", path, "-D", "pipeline.name=x", "--", "--day", "1", "-D", "y")
    assert result.stdout == f"{[path, '--day', '1', '-D', 'y']}\n"


@pytest.mark.parametrize("status", [0, 3])
def test_run_ends_with_the_status_of_the_program(penstock, program, status):
    assert penstock("run", program(f"raise SystemExit({status})")).exit_code == status


def test_run_sets_overrides_and_verbosity(penstock, program):
    penstock("run", program(""), "-v", "-D", "pipeline.name=x")
    assert process_overrides() == (("cli", {"spark.log.level": "INFO", "pipeline.name": "x"}),)


@pytest.mark.parametrize("command", ["run", "plan"])
def test_missing_program(penstock, tmp_path, command):
    result = penstock(command, str(tmp_path / "nowhere.py"))
    assert result.exit_code == 2
    assert "nowhere.py" in result.stderr
    assert "does not exist" in result.stderr


@pytest.mark.parametrize("command", ["run", "plan"])
def test_bad_definition(penstock, program, command):
    result = penstock(command, program(JOB), "-D", "parallelism.default")
    assert result.exit_code == 2
    assert "'parallelism.default' is not of the form KEY=VALUE" in result.stderr


def test_penstock_error_is_its_text_without_a_traceback(penstock, program):
    result = penstock("run", program(JOB), "-D", "paralelism.default=2")
    assert result.exit_code == 1
    assert result.stderr == (
        "[CONFIG_INVALID] unknown configuration key 'paralelism.default' (from cli)\n"
        "  fix: Did you mean parallelism.default?\n"
    )


def test_penstock_error_shows_its_traceback_when_verbose(penstock, program):
    path = program(JOB)
    result = penstock("run", path, "--verbose", "-D", "paralelism.default=2")
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert f'File "{path}", line' in result.stderr
    assert result.stderr.endswith("  fix: Did you mean parallelism.default?\n")


def test_error_of_the_program_shows_its_frames_only(penstock, program):
    path = program("def fail():\n    return {}['gone']\n\nfail()\n")
    result = penstock("run", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(
        f'Traceback (most recent call last):\n  File "{path}", line 4, in <module>'
    )
    assert result.stderr.endswith("KeyError: 'gone'\n")
    assert "runpy" not in result.stderr
    assert "failures.py" not in result.stderr


def test_syntax_error_names_the_line(penstock, program):
    result = penstock("run", program("x = (\n"))
    assert result.exit_code == 1
    assert "job.py" in result.stderr
    assert "SyntaxError" in result.stderr


@pytest.fixture
def demo_stub(monkeypatch):
    """Return what the demo was called with; it ends with status 4."""
    got = []

    def run_demo(data_dir, **options):
        got.append((data_dir, options))
        return 4

    monkeypatch.setattr(demo, "resolve_name", lambda _: run_demo)
    return got


def test_demo_gets_its_options(penstock, demo_stub, tmp_path):
    folder = tmp_path / "data"
    arguments = ["--data-dir", str(folder), "--compare", "--parallelism", "3", "--fresh"]
    assert penstock("demo", *arguments).exit_code == 4
    assert demo_stub == [(folder, {"compare": True, "parallelism": 3, "fresh": True})]


def test_demo_default_folder_is_below_the_current_directory(
    penstock, demo_stub, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    penstock("demo")
    options = {"compare": False, "parallelism": None, "fresh": False}
    assert demo_stub == [(tmp_path / "demo-data", options)]


def test_demo_exists_under_its_name():
    assert (demo.CHECKOUT / demo.DEMO).is_dir()
    assert callable(resolve_name(demo.RUN_DEMO))


def test_workers_can_import_the_demo_while_it_runs(penstock, monkeypatch):
    before, found = os.environ.get("PYTHONPATH"), []

    def run_demo(*_, **__):
        found.extend([sys.path[0], os.environ["PYTHONPATH"].split(os.pathsep)[0]])
        return 0

    monkeypatch.setattr(demo, "resolve_name", lambda _: run_demo)
    assert penstock("demo").exit_code == 0
    assert found == [str(demo.CHECKOUT)] * 2
    assert os.environ.get("PYTHONPATH") == before


def test_demo_of_an_installed_package_says_where_it_is(penstock, monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "CHECKOUT", tmp_path)
    result = penstock("demo")
    assert result.exit_code == 1
    assert result.stderr == (
        "[ENVIRONMENT] the demo is no part of the installed package; it is examples/demo of the "
        "project's source\n  fix: Get the source and run `make demo` in it. Your own program does not need "
        "it: `penstock run JOB.PY`.\n"
    )


def test_demo_reports_a_missing_java(penstock, monkeypatch):
    def fail(*_, **__):
        raise EnvironmentSetupError("there is no Java runtime in PATH", hint="Install one.")

    monkeypatch.setattr(demo, "resolve_name", lambda _: fail)
    result = penstock("demo")
    assert result.exit_code == 1
    assert result.stderr == (
        "[ENVIRONMENT] there is no Java runtime in PATH\n  fix: Install one.\n"
    )


STATE_WITHOUT_UID = """
    from penstock.datastream import StreamExecutionEnvironment

    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 2])
    numbers.key_by(lambda v: v).reduce(max).name("named"){uid}.print()
    numbers.key_by(lambda v: v).reduce(min).name("unnamed").print()
    env.execute()
"""


@pytest.mark.parametrize("form", [[], ["--json"], ["--mermaid"]])
def test_plan_lists_operators_with_state_and_without_uid(penstock, program, form):
    script = program(STATE_WITHOUT_UID.format(uid='.uid("mine")'))
    mode = ["-D", "execution.runtime-mode=STREAMING"]
    result = penstock("plan", script, *mode, *form)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("state without a uid") == 1
    assert "  unnamed (uid unnamed-" in result.stderr
    assert "job.py:7 in <module>" in result.stderr
    assert "  named" not in result.stderr
    assert "without a uid" not in result.stdout


def test_a_batch_job_has_no_state_to_lose(penstock, program):
    script = program(STATE_WITHOUT_UID.format(uid=""))
    result = penstock("plan", script, "-D", "execution.runtime-mode=BATCH")
    assert "without a uid" not in result.stderr


def test_one_option_is_explained(penstock):
    result = penstock("config", "state.compression")
    assert result.exit_code == 0
    assert result.stdout.startswith("state.compression\ndefault: none\n")
    assert "must be one of none, lz4, zstd" in result.stdout


def test_an_option_is_found_by_its_other_key(penstock):
    assert "execution.checkpointing.dir" in penstock("config", "state.checkpoints.dir").stdout


def test_options_are_found_by_the_begin_of_their_keys(penstock):
    result = penstock("config", "execution.live.", "--json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert {each["key"] for each in found} >= {
        "execution.live.max-files-per-batch",
        "execution.live.single-task-work",
    }
    assert all(each["key"].startswith("execution.live.") for each in found)


def test_an_option_that_does_not_exist_is_guessed(penstock):
    result = penstock("config", "execution.live.motor")
    assert result.exit_code == 1
    assert "there is no option 'execution.live.motor'" in result.stderr


def test_the_option_of_an_engine_is_refused_as_any_other(penstock):
    result = penstock("config", "execution.live.engine")
    assert result.exit_code == 1
    assert "there is no option 'execution.live.engine'" in result.stderr


def test_all_options_as_json(penstock):
    lines = penstock("config", "--json").stdout.splitlines()
    assert len(lines) == len(ALL_OPTIONS)


def test_plan_estimates_what_more_records_and_keys_take(penstock, tmp_path):
    script = tmp_path / "job.py"
    script.write_text(
        "from penstock.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([(1, 1)]).key_by(lambda p: p[0]).sum(1).print()\n"
        "env.execute()\n",
        encoding="utf-8",
    )

    def estimated(records, keys):
        size = ("--records", records, "--keys", keys)
        result = penstock("plan", str(script), "--estimate", *size)
        assert (result.exit_code, result.stderr) == (0, "")
        lines = [line.split() for line in result.stdout.splitlines()]
        return {line[0]: line[1:] for line in lines if len(line) == 3}

    few, many = estimated("1e6", "1e3"), estimated("1e6", "1e7")
    assert few["state"] != many["state"]
    assert estimated("1e9", "1e3")["time"][1] in {"min", "h"}
    both = penstock("plan", str(script), "--estimate", "--json")
    assert both.exit_code == 2


@pytest.mark.parametrize("named", [[], ["totals"]])
def test_state_show_names_the_command_that_lists_states(penstock, named):
    result = penstock("state", "show", "/a directory", *named)
    assert result.exit_code == 2
    assert "penstock state ls '/a directory'" in " ".join(result.stderr.split()).replace(
        " │ │ ", " "
    )

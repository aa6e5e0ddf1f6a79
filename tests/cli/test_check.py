"""`penstock check`: the verdict, the exit status, samples in a directory and the test that it writes."""

from __future__ import annotations

import json
import runpy

import pytest

from penstock.errors import LawError

PROGRAM = """
    import sys
    from penstock.common import Types
    from penstock.datastream import MapFunction, StreamExecutionEnvironment, WatermarkStrategy
    from penstock.datastream.connectors import FileSource

    class Numbered(MapFunction):
        def __init__(self):
            self.seen = 0

        def map(self, value):
            print("noise")
            self.seen += 1
            return (value.customer, self.seen if "--wrong" in sys.argv else value.amount)

    order = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.INT()])
    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.csv("DATA", order)
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    orders.map(Numbered()).name("numbered").print().name("out")
    env.execute()
"""


@pytest.fixture
def job(program, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for day in (1, 2):
        lines = [f"c{n % 3},{n * day}" for n in range(10)]
        (data / f"{day}.csv").write_text("\n".join(["customer,amount", *lines]) + "\n")
    return program(PROGRAM.replace("DATA", str(data)))


def test_one_answer(penstock, job):
    result = penstock("check", job, "--ways", "40")
    assert result.exit_code == 0
    verdict, warning, fix = result.stdout.splitlines()
    assert verdict == "same answer in 40 ways (20 records, seed 0)"
    assert warning.startswith("warning: 'numbered' keeps self.seen")
    assert fix.startswith("  fix: Keep it in state")


def test_two_answers_as_json_and_as_a_test(penstock, job, tmp_path):
    written = tmp_path / "test_job.py"
    options = ["--ways", "40", "--json", "--write-test", str(written)]
    result = penstock("check", job, *options, "--", "--wrong")
    assert result.exit_code == 1
    verdict = json.loads(result.stdout)
    assert verdict["same"] is False
    assert verdict["disagreement"]["operator"] == "numbered"
    assert len(verdict["disagreement"]["inputs"]["orders"]) == 2
    test = runpy.run_path(str(written))
    with pytest.raises(LawError, match="sink 'out' gets two answers for 2 records"):
        test["test_job_gives_one_answer"]()


@pytest.mark.parametrize("file", [".", "nowhere/test_job.py"])
def test_a_test_that_cannot_be_written_is_refused_before_the_check(penstock, job, tmp_path, file):
    result = penstock("check", job, "--write-test", str(tmp_path / file), "--", "--wrong")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'--write-test'" in result.stderr


def test_two_answers_are_two_answers_if_the_test_is_not_written(penstock, job):
    result = penstock("check", job, "--ways", "40", "--write-test", "/dev/full", "--", "--wrong")
    assert result.exit_code == 1
    assert "gets two answers" in result.stdout
    assert "--write-test /dev/full cannot be written" in result.stderr


@pytest.mark.parametrize("name", ["orders.jsonl", "orders/1.jsonl", "orders.csv"])
def test_samples_in_a_directory(penstock, job, tmp_path, name):
    path = tmp_path / "sample" / name
    path.parent.mkdir(parents=True)
    texts = {
        "jsonl": '{"customer": "a", "amount": 1}\n{"customer": "b", "amount": 2}\n',
        "csv": "customer,amount\na,1\nb,2\n",
    }
    path.write_text(texts[name.rpartition(".")[2]])
    result = penstock("check", job, "--input", str(tmp_path / "sample"), "--ways", "12")
    assert result.exit_code == 0
    assert result.stdout.startswith("same answer in 12 ways (2 records, seed 0)\n")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("order.jsonl", "{}", "file of no source"),
        ("orders.xml", "{}", "of no known kind"),
        ("orders.jsonl", '{"amount": "x"}', "line 1 is no record of 'orders'"),
    ],
)
def test_wrong_samples_are_refused(penstock, job, tmp_path, name, text, problem):
    directory = tmp_path / "sample"
    directory.mkdir()
    (directory / name).write_text(text)
    result = penstock("check", job, "--input", str(directory))
    assert result.exit_code == 2
    assert problem in result.stderr


def test_programs_that_cannot_be_checked(penstock, program):
    result = penstock("check", program("print('no job')"))
    assert result.exit_code == 2
    assert "[CLI_NO_JOB]" in result.stderr

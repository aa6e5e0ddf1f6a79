"""`penstock sample`: files of the first records of sources, which `penstock check` takes."""

from __future__ import annotations

import json

import pytest

JOB = """
    from penstock.common import Row, Types
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.datastream.connectors import DiscardingSink, FileSource

    kind = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.LONG()])
    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.json({path!r}, type_info=kind)
    from penstock.common import WatermarkStrategy
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    orders.key_by(lambda order: order.customer).sum("amount").sink_to(DiscardingSink()).name("totals")
    env.execute()
"""

HYBRID = """
    from penstock.common import Types, WatermarkStrategy
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.datastream.connectors import DiscardingSink, FileSource, HybridSource

    history = FileSource.csv({path!r}, Types.ROW_NAMED(["at"], [Types.LONG()]))
    live = HybridSource.builder(history).add_source(lambda end: None, timestamp="at")
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_source(live.build(), WatermarkStrategy.no_watermarks(), "orders")
    orders.sink_to(DiscardingSink()).name("copies")
    env.execute()
"""


@pytest.fixture
def job(program, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    lines = [json.dumps({"customer": "ab"[n % 2], "amount": n}) for n in range(20)]
    (data / "1.json").write_text("\n".join(lines))
    return program(JOB.format(path=str(data)))


def test_a_sample_is_written_masked_and_checked(penstock, job, tmp_path):
    out = tmp_path / "samples"
    result = penstock("sample", job, "--records", "10", "--out", str(out), "--mask", "customer")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{out}/orders.jsonl  10 records\n"
    assert "masked: customer" in result.stderr
    found = [json.loads(line) for line in (out / "orders.jsonl").read_text().splitlines()]
    names = [record["customer"] for record in found]
    assert names == names[:2] * 5
    assert not set(names) & {"a", "b"}
    assert [record["amount"] for record in found] == list(range(10))
    result = penstock("check", job, "--input", str(out), "--ways", "8")
    assert result.stdout.startswith("same answer in 8 ways (10 records, seed 0)\n")


def test_a_part_of_a_source_that_cannot_be_read_is_noted(penstock, program, tmp_path):
    (tmp_path / "1.csv").write_text("at\n5\n")
    path = program(HYBRID.format(path=str(tmp_path / "1.csv")))
    result = penstock("sample", path, "--out", str(tmp_path / "samples"))
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{tmp_path}/samples/orders.jsonl  1 records\n"
    assert "the sample of source 'orders' lacks a source made at the switch" in result.stderr


def test_nothing_is_written_over_and_columns_must_be_there(penstock, job, tmp_path):
    result = penstock("sample", job, "--out", str(tmp_path / "data"))
    assert result.exit_code == 1
    assert "is not empty" in result.stderr
    result = penstock("sample", job, "--out", str(tmp_path / "s"), "--mask", "custmer")
    assert result.exit_code == 1
    assert "did you mean 'customer'" in result.stderr


def test_a_program_without_a_job_has_no_sample(penstock, program):
    result = penstock("sample", program("print('no job')"))
    assert result.exit_code == 1
    assert "[CLI_NO_JOB]" in result.stderr

"""`benchmarks.driver_cost`, with few files and with made samples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import driver_cost
from benchmarks.driver_cost import TENTHS, Sample, slope, slopes_text
from benchmarks.file_cost import make

MIB = 1 << 20


def samples(milliseconds: float, driver: float, jvm: float, files: float) -> list[Sample]:
    """Return samples that grow by so much per 1,000 micro-batches, and a first one that is out of line."""
    later = [
        Sample(
            1_000 * i,
            50 + milliseconds * i,
            int((100 + driver * i) * MIB),
            int((500 + jvm * i) * MIB),
            int(30 + files * i),
        )
        for i in range(2, TENTHS + 1)
    ]
    return [Sample(1_000, 900.0, MIB, MIB, 1), *later]


def test_what_grows_is_told_without_the_first_tenth() -> None:
    found = samples(1.5, 2, 0, 3)
    assert slopes_text(found) == (
        "per 1,000 micro-batches: +1.5 ms each, driver +2.0 MiB, JVM +0.0 MiB, +3.0 files"
    )
    assert slope(found[1:], lambda each: each.files) == pytest.approx(0.003)


def test_too_few_files_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        driver_cost.main(["--files", "20", "--per-batch", "10"])
    assert "10 micro-batches or more" in capsys.readouterr().err


@pytest.mark.spark
def test_each_tenth_and_the_next_start_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data, job = tmp_path / "data", tmp_path / "job"
    make(data, 20)
    with driver_cost.phase() as pool:  # one JVM for both, which takes long to start
        found = pool.apply(driver_cost.read_all, (data, job, 20, 2))
        (data / "one-more.json").write_text('{"n": 1}\n')
        pool.apply(driver_cost.first_of, (data, job, "with all the past", 2))
    assert [each.micro_batches for each in found] == list(range(1, TENTHS + 1))
    assert all(min(each.driver_bytes, each.jvm_bytes) > MIB for each in found)
    assert all(each.files > 0 for each in found)
    *tenths, past = capfd.readouterr().out.splitlines()
    assert tenths == list(map(str, found))
    assert past.startswith("with all the past: ")
    assert re.search(r"driver (\d+) MiB, JVM (\d+) MiB, (\d+) files", past)

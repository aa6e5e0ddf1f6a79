"""A run that failed says why, whatever its cleaning meets."""

from __future__ import annotations

import logging

import pytest

from penstock.errors import StateError
from penstock.spark.live.epochs.epoch_run import cleaned_up


def failing() -> None:
    raise OSError("the executors are gone")


def test_the_first_failure_is_raised_and_the_second_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = StateError("damaged", hint="Restore it.")
    with caplog.at_level(logging.WARNING), pytest.raises(StateError) as caught:  # noqa: SIM117
        with cleaned_up(failing, "removing"):
            raise first
    assert caught.value is first
    assert "removing failed as well, after the failure: the executors are gone" in caplog.text


def test_a_failure_of_the_cleaning_alone_is_raised() -> None:
    with pytest.raises(OSError, match="executors are gone"), cleaned_up(failing, "removing"):
        pass


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(), OSError()])
def test_it_is_cleaned_once_whatever_is_raised(raised: BaseException) -> None:
    calls: list[int] = []
    with pytest.raises(type(raised)) as caught, cleaned_up(lambda: calls.append(1), "removing"):
        raise raised
    assert caught.value is raised
    assert calls == [1]


def test_it_is_cleaned_once_after_success() -> None:
    calls: list[int] = []
    with cleaned_up(lambda: calls.append(1), "removing"):
        assert calls == []
    assert calls == [1]

"""What a test that waits for a job sees of its end."""

from __future__ import annotations

from typing import Any, cast

import pytest

from penstock.api.environment.job import CompletableFuture, JobClient
from penstock.errors import JobFailedError
from tests.spark.waiting import wait_for


class Ended:
    """A job that has ended."""

    def __init__(self, failure: JobFailedError | None) -> None:
        self._result = CompletableFuture[Any]()
        if failure is None:
            self._result.set_result(None)
        else:
            self._result.set_exception(failure)

    def get_job_execution_result(self) -> CompletableFuture[Any]:
        return self._result


def test_a_job_that_failed_is_not_waited_for() -> None:
    client = cast("JobClient", Ended(JobFailedError("no memory", hint="x")))
    with pytest.raises(JobFailedError, match="no memory"):
        wait_for(client, lambda: False)


def test_a_job_that_ended_is_not_waited_for() -> None:
    client = cast("JobClient", Ended(None))
    wait_for(client, lambda: True)
    with pytest.raises(AssertionError, match="has ended"):
        wait_for(client, lambda: False)

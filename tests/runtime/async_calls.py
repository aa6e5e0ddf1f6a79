"""An operator that makes asynchronous calls, without a program around it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from penstock.datastream import (
    AsyncFunction,
    AsyncRetryStrategy,
)
from penstock.program.function_calls import AsyncSpec
from penstock.program.level import OperatorSpec
from penstock.program.operators import ASYNC
from penstock.program.run_settings import RunKind, RunSettings
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.async_calls import AsyncOperator

NO_RETRY = AsyncRetryStrategy.no_restart()


class Recorded:
    """Where results go: a log of batches and watermarks."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        stamps: list[Any] = timestamps or [None] * len(values)
        self.log += zip(values, stamps, strict=True)

    def advance_watermark(self, watermark: int) -> None:
        self.log.append(watermark)

    def restore_watermark(self, watermark: int) -> None:
        self.log.append(("restored", watermark))

    def set_idle(self, idle: bool) -> None:
        self.log.append(("idle", idle))

    def separate(self) -> None:
        self.log.append("separate")

    def set_backlog(self, backlog: bool) -> None:
        self.log.append(("backlog", backlog))

    @property
    def values(self) -> list[Any]:
        return [entry[0] for entry in self.log if isinstance(entry, tuple)]


def operator(
    subject: AsyncFunction,
    *,
    ordered: bool = True,
    timeout_ms: int = 30_000,
    capacity: int = 100,
    retry: AsyncRetryStrategy = NO_RETRY,
) -> tuple[AsyncOperator, Recorded]:
    spec = OperatorSpec(
        1,
        "calls-1",
        "calls",
        ASYNC,
        subject,
        "async_invoke",
        None,
        async_io=AsyncSpec(ordered, timeout_ms, capacity, retry),
    )
    output = Recorded()
    run = RunSettings(RunKind.LIVE, 1, 128)
    return AsyncOperator(spec, output, OperatorContext(spec, run, 0)), output


def results_of(subject: AsyncFunction, values: list[Any], **how: Any) -> list[Any]:
    """Return what one micro-batch gives."""
    calls, output = operator(subject, **how)
    calls.open()
    try:
        if values:
            calls.collect(values, None)
        calls.finish_batch()
    finally:
        calls.close()
    return output.values


class Calls(AsyncFunction):
    """Calls a coroutine function, and counts."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self.call = call
        self.under_way = 0
        self.most = 0
        self.attempts: Counter[Any] = Counter()

    async def async_invoke(self, value: Any) -> Any:
        self.attempts[value] += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await self.call(value)
        finally:
            self.under_way -= 1


async def twice(value: Any) -> list[Any]:
    await asyncio.sleep(0.001)
    return [value, value]


async def nothing_more(value: Any) -> list[Any]:
    return [value]


async def nothing(value: Any) -> list[Any]:
    return []

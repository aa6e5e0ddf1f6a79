"""A sink that passes records to a callable in the driver.

A sink is pickled with the program, and a callable of the driver cannot be. So the sink has a token,
and the driver's process registers the callable under it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.connectors.spool import SpoolCommitter, SpoolWriter
from penstock.errors import SinkError
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter

Consumer = Callable[[list[Any]], None]
"""Receives a list of values; called in the thread that commits."""

_consumers: dict[str, Consumer] = {}


def register(token: str, consumer: Consumer) -> None:
    """Let `consumer` receive the records of `CollectSink(token)` in this process.

    An earlier consumer of the token is replaced. Call `unregister` when the job is over.
    """
    _consumers[token] = consumer


def unregister(token: str) -> None:
    """Forget the consumer of `token`, if there is one."""
    _consumers.pop(token, None)


@dataclass(frozen=True, slots=True)
class CollectSink(Sink):
    """Delivers records to the consumer registered under `token`, epoch by epoch.

    The consumer gets chunks: those of subtask 0 first, each subtask in its own order.
    """

    token: str

    kind: ClassVar[str] = "collect"
    may_stage_in_store: ClassVar[bool] = True

    def beside(self, directory: str) -> Sink:
        """Return the sink itself: no other job has what it writes."""
        del directory
        return self

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer that spools values."""
        return SpoolWriter(context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that calls the consumer."""

        def deliver(values: list[Any]) -> None:
            consumer = _consumers.get(self.token)
            if consumer is None:
                raise SinkError(
                    f"no iterator of this process collects the values of {context.name} "
                    f"(token {self.token!r})",
                    hint="Keep the iterator of execute_and_collect open until the job ends.",
                    origin=context.origin,
                )
            consumer(values)

        return SpoolCommitter(context, deliver)

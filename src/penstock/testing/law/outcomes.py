"""A program that can be run in every way, and the outcomes of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.config.configuration import Configuration, job_parameters
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import CallSite, ConfigError, GraphError, PenstockError
from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.planner import plan_job
from penstock.program.operators import SIDE_OUTPUT, SINK, SOURCE
from penstock.program.traverse import reachable
from penstock.testing.in_process import run_in_process
from penstock.testing.law.comparison import Received
from penstock.testing.law.rules import SinkRule, rule_of
from penstock.testing.law.samples import Inputs, with_samples
from penstock.testing.law.ways import Way

_LAYER = "check"


@dataclass(frozen=True, slots=True)
class CheckedSink:
    """A sink of the program, or a tap behind one of its operators.

    Attributes:
        name: Its name.
        rule: The comparison of its answers.
        origin: The user's line of the sink or operator.
    """

    name: str
    rule: SinkRule
    origin: CallSite | None


@dataclass(frozen=True, slots=True)
class WayOutcome:
    """The outcome of one way.

    Attributes:
        received: The records of each sink; empty after a failure.
        failure: The error of the run, None without one.
        is_refused: Whether the program cannot be planned this way.
    """

    received: tuple[Received, ...] = ()
    failure: PenstockError | None = None
    is_refused: bool = False


class CheckedProgram:
    """A program whose sources read samples, and whose sinks only collect.

    Attributes:
        graph: Its graph.
        sinks: Its sinks, in order of id.
    """

    def __init__(self, graph: LogicalGraph, configuration: Configuration) -> None:
        """Find the rules of the sinks."""
        self.graph = graph
        self._configuration = configuration
        self.sinks = tuple(
            CheckedSink(node.name, rule_of(graph, node), node.origin)
            for node in graph.of_kind(SINK)
        )

    def with_settings(self, settings: Mapping[str, str]) -> CheckedProgram:
        """Return the program with settings that override its own."""
        return CheckedProgram(self.graph, self._configuration.layered("cli", settings))

    @property
    def sources(self) -> tuple[Node, ...]:
        """The sources, in order of id."""
        return self.graph.of_kind(SOURCE)

    def run(self, inputs: Inputs, way: Way) -> WayOutcome:
        """Run the program over samples."""
        settings = self._configuration.layered(_LAYER, way.settings())
        try:
            plan = plan_job(with_samples(self.graph, inputs, way), settings)
        except (ConfigError, GraphError) as error:
            return WayOutcome(failure=error, is_refused=True)
        try:
            results = run_in_process(
                plan, way.schedule(), parameters=job_parameters(self._configuration)
            )
        except PenstockError as error:
            return WayOutcome(failure=error)
        received = zip(self.sinks, results.records, strict=True)
        return WayOutcome(tuple(Received(way, of, sink.rule) for sink, of in received))

    def tapped(self, sink: int) -> CheckedProgram:
        """Return the program with a sink behind every operator that leads to a sink, in topological order.

        Args:
            sink: Index of the sink.
        """
        end = self.graph.of_kind(SINK)[sink]
        above = reachable([end.id], lambda key: self.graph.node(key).inputs)
        taps = list(self._taps([self.graph.node(key) for key in sorted(above)]))
        others = {node.id for node in self.graph.of_kind(SINK)}
        nodes = {node.id: node for node in self.graph.nodes if node.id not in others}
        numbered = {len(self.graph.nodes) + at: tap for at, tap in enumerate(taps)}
        ends = {key: replace(tap, id=key) for key, tap in numbered.items()}
        keys = sorted(nodes | ends)
        number = {key: at for at, key in enumerate(keys)}
        graph = LogicalGraph(
            tuple(
                replace(node, id=number[key], inputs=tuple(number[k] for k in node.inputs))
                for key, node in sorted((nodes | ends).items())
            )
        )
        return CheckedProgram(graph, self._configuration)

    @staticmethod
    def _taps(nodes: list[Node]) -> Iterator[Node]:
        for node in nodes:
            if node.kind.is_operator or node.kind == SIDE_OUTPUT:
                yield Node(
                    id=-1,
                    kind=SINK,
                    name=node.name,
                    uid=None,
                    inputs=(node.id,),
                    type_info=node.type_info,
                    origin=node.origin,
                    sink=DiscardingSink(),
                )

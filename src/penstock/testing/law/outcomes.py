"""A program that can be run in every way, and the outcomes of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.config.configuration import Configuration, job_parameters
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import CallSite, ConfigError, EffectError, GraphError, PenstockError
from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.physical import PhysicalPlan
from penstock.plan.planner import plan_job
from penstock.program.operators import SIDE_OUTPUT, SINK, SOURCE
from penstock.program.traverse import reachable
from penstock.testing.in_process import run_in_process
from penstock.testing.law.comparison import Received
from penstock.testing.law.effects import without_effects
from penstock.testing.law.on_spark import run_on_spark
from penstock.testing.law.rules import SinkRule, rule_of
from penstock.testing.law.samples import Inputs, with_samples
from penstock.testing.law.ways import Way
from penstock.testing.results import Results

_LAYER = "check"
_MOST_PLANS = 64


@dataclass(frozen=True, slots=True)
class CheckedSink:
    """A sink of the program, or a tap behind one of its operators."""

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
        note: A sentence about the run for the verdict; None without one.
    """

    received: tuple[Received, ...] = ()
    failure: PenstockError | None = None
    is_refused: bool = False
    note: str | None = None


class CheckedProgram:
    """A program whose sources read samples, and whose sinks only collect."""

    def __init__(
        self,
        graph: LogicalGraph,
        configuration: Configuration,
        rules: Mapping[str, SinkRule] | None = None,
    ) -> None:
        """Find the rules of the sinks; some names of sinks may have one that is given."""
        self.graph = graph
        self._configuration = configuration
        self._rules = rules or {}
        self._plans: dict[tuple[object, ...], tuple[Inputs, PhysicalPlan]] = {}
        self.sinks = tuple(
            CheckedSink(node.name, self._rules.get(node.name) or rule_of(graph, node), node.origin)
            for node in graph.of_kind(SINK)
        )

    def with_settings(self, settings: Mapping[str, str]) -> CheckedProgram:
        """Return the program with settings that override its own."""
        configuration = self._configuration.layered("cli", settings)
        return CheckedProgram(self.graph, configuration, self._rules)

    @property
    def sources(self) -> tuple[Node, ...]:
        """The sources, in order of id."""
        return self.graph.of_kind(SOURCE)

    def run(self, inputs: Inputs, way: Way) -> WayOutcome:
        """Run the program over samples."""
        try:
            self.plan(inputs, way)
        except (ConfigError, GraphError) as error:
            return WayOutcome(failure=error, is_refused=True)
        if way.on_spark:
            return self._on_spark(inputs, way)
        try:
            results = self.results(inputs, way)
        except EffectError:
            raise
        except PenstockError as error:
            return WayOutcome(failure=error)
        return WayOutcome(self._received(way, results.records))

    def results(self, inputs: Inputs, way: Way) -> Results:
        """Run the program over samples in this process."""
        parameters = job_parameters(self._configuration)
        with without_effects():
            return run_in_process(self.plan(inputs, way), way.schedule(), parameters=parameters)

    def _on_spark(self, inputs: Inputs, way: Way) -> WayOutcome:
        settings = self._configuration.layered(_LAYER, way.settings())
        graph = with_samples(self.graph, inputs, way)
        spark_run = run_on_spark(graph, settings, way, sum(map(len, inputs.values())))
        if spark_run.failure is not None:
            return WayOutcome(failure=spark_run.failure)
        note = (
            None
            if spark_run.killed is None
            else f"{way.describe()}: process {spark_run.killed} got SIGKILL"
        )
        return WayOutcome(self._received(way, spark_run.records), note=note)

    def _received(self, way: Way, records: Sequence[Sequence[Any]]) -> tuple[Received, ...]:
        pairs = zip(self.sinks, records, strict=True)
        return tuple(Received(way, of, sink.rule) for sink, of in pairs)

    def plan(self, inputs: Inputs, way: Way) -> PhysicalPlan:
        """Return the plan of a way, which it has in common with ways of other micro-batches and failures."""
        settings = way.settings()
        cuts = (way.cut, way.only_live, way.order, way.turns)
        place = (id(inputs), *cuts, way.columns, *settings.items())
        known = self._plans.get(place)
        # The stored inputs are compared, because an id may be that of inputs that are gone.
        if known is not None and known[0] is inputs:
            return known[1]
        if len(self._plans) == _MOST_PLANS:
            self._plans.clear()
        layered = self._configuration.layered(_LAYER, settings)
        plan = plan_job(with_samples(self.graph, inputs, way), layered)
        self._plans[place] = (inputs, plan)
        return plan

    def with_graph(self, graph: LogicalGraph) -> CheckedProgram:
        """Return another program with the same settings."""
        return CheckedProgram(graph, self._configuration)

    def operators_above(self, sink: int) -> list[int]:
        """Return the ids of the operators that lead to the sink of an index, in topological order."""
        end = self.graph.of_kind(SINK)[sink]
        above = reachable([end.id], lambda key: self.graph.node(key).inputs)
        kinds = {key: self.graph.node(key).kind for key in sorted(above)}
        return [key for key, kind in kinds.items() if kind.is_operator or kind == SIDE_OUTPUT]

    def tapped(self, keys: Sequence[int]) -> CheckedProgram:
        """Return the program up to the nodes of some ids, with a sink behind each of them."""
        above = reachable(keys, lambda key: self.graph.node(key).inputs)
        nodes = [self.graph.node(key) for key in sorted(above)]
        first = 1 + max(above)
        taps = [_tap(self.graph.node(key), first + index) for index, key in enumerate(keys)]
        return self.with_graph(LogicalGraph((*nodes, *taps)))


def _tap(node: Node, number: int) -> Node:
    return Node(
        id=number,
        kind=SINK,
        name=node.name,
        uid=None,
        inputs=(node.id,),
        type_info=node.type_info,
        origin=node.origin,
        sink=DiscardingSink(),
    )

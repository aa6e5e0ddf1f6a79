"""Makes a plan of the operator under test, whose inputs and outputs the harness controls.

The inputs are sources that are never read: the harness writes their records. They are partitioned,
so every operator is in a level after level 0, and its function object stays the same. The outputs are
sinks whose channels lead to a separate last level, so that it receives timestamps and watermarks too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from operator import methodcaller
from typing import Any, ClassVar

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.api.functions.function_classes import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.api.functions.two_input_functions import (
    BaseBroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.api.functions.watermark import WatermarkStrategy
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.streams.data_stream import DataStream
from penstock.config.configuration import Configuration, job_parameters
from penstock.config.options import AUTO_UIDS, RuntimeExecutionMode
from penstock.config.run_options import DROP_UNUSED_TIMESTAMPS
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import ArgumentError
from penstock.graph.endpoints import SplitSource
from penstock.graph.logical import Node, Partitioning
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL, StreamPartitioner
from penstock.program.level import LevelProgram, OperatorSpec
from penstock.program.operators import KEY_BY, PARTITION
from penstock.program.traverse import ways
from penstock.types import TypeInformation, Types
from penstock.types.output_tag import OutputTag

HARNESS_LEVEL = SINK_LEVEL - 1
"""Target level of the outputs of the operators under test."""

MAIN_OUTPUT = 0
"""Index of the sink of the main output; side outputs follow."""

Build = Callable[..., DataStream]
"""Makes the stream under test from its input streams."""

_ONE_INPUT: dict[type, str] = {
    MapFunction: "map",
    FlatMapFunction: "flat_map",
    FilterFunction: "filter",
    ReduceFunction: "reduce",
    ProcessFunction: "process",
    KeyedProcessFunction: "process",
}
_TWO_INPUTS: dict[type, str] = {
    CoMapFunction: "map",
    CoFlatMapFunction: "flat_map",
    CoProcessFunction: "process",
    KeyedCoProcessFunction: "process",
}
"""Function class to the method of a stream, or of connected streams, that takes it."""

_KEPT = frozenset({KEY_BY, PARTITION})
"""Kinds of nodes before an operator that belong to it."""

_OF_A_PLACE = frozenset({"id", "kind", "name", "inputs"})


@dataclass(frozen=True, slots=True)
class _Inlet(SplitSource):
    """An input of the harness: one split that never ends and is never read."""

    kind: ClassVar[str] = "harness"
    number: int
    type_info: TypeInformation

    @property
    def is_bounded(self) -> bool:
        """True if it ends; that is unknown, because the test ends it."""
        return False

    def get_produced_type(self) -> TypeInformation:
        """Return the declared type."""
        return self.type_info

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return the one split."""
        return ((0, None),)

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return nothing: records are pushed."""
        return ()


@dataclass(frozen=True, slots=True)
class HarnessProgram:
    """A planned program under test.

    Attributes:
        plan: Its plan, whose sinks are the outputs.
        side_outputs: Tag id to the index of its sink.
        inputs: Index of an input to the id of its source; an input without readers is missing.
        parameters: Global job parameters.
    """

    plan: PhysicalPlan
    side_outputs: Mapping[str, int]
    inputs: Mapping[int, int]
    parameters: Mapping[str, str]

    def levels(self, handed: HandOver) -> tuple[LevelProgram, ...]:
        """Return one program per level, level 0 first."""
        channels = tuple(
            replace(spec, target_level=HARNESS_LEVEL, partitioner=StreamPartitioner.FORWARD)
            if spec.target_level == SINK_LEVEL
            else spec
            for spec in self.plan.channels
        )
        known = {spec.id for spec in channels}
        watermarks = {key: dict(of) for key, of in handed.watermarks.items() if key in known}
        (run,) = self.plan.runs
        return programs_of(
            replace(self.plan, channels=channels),
            run,
            tasks=self.plan.options.parallelism,
            max_frame_records=4096,
            handed=HandOver(watermarks, dict(handed.memory)),
            job_parameters=dict(self.parameters),
        )

    def outputs(self) -> dict[int, int]:
        """Return channel to the index of its output."""
        return {
            spec.id: spec.target_operator
            for spec in self.plan.channels
            if spec.target_level == SINK_LEVEL
        }

    def operators(self) -> list[OperatorSpec]:
        """Return all operators, upstream first."""
        return [spec for level in self.plan.levels for spec in level.operators]


def program_of(
    build: Build,
    types: Sequence[TypeInformation | None],
    side_outputs: Sequence[OutputTag],
    configuration: Configuration,
) -> HarnessProgram:
    """Plan the stream that `build` makes of as many streams as there are `types`."""
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.get_configuration().set(DROP_UNUSED_TIMESTAMPS, "false")  # a test reads every result
    env.get_configuration().set(AUTO_UIDS, "true")  # inputs and outputs of a harness have none
    streams = [
        env.from_source(
            _Inlet(number, declared or Types.PICKLED_BYTE_ARRAY()),
            WatermarkStrategy.no_watermarks(),
            f"input {number}",
        )
        for number, declared in enumerate(types)
    ]
    built = build(*(_exchanged(env, stream) for stream in streams))
    if not isinstance(built, DataStream) or built.get_execution_environment() is not env:
        raise ArgumentError.here(
            f"the function that builds the stream under test returned {built!r}",
            hint="Return a stream made of the streams it is given.",
        )
    built.sink_to(DiscardingSink()).name("output")
    for tag in side_outputs:
        built.get_side_output(tag).sink_to(DiscardingSink()).name(f"side output {tag.tag_id}")
    plan = env.plan()
    return HarnessProgram(
        plan,
        {tag.tag_id: index for index, tag in enumerate(side_outputs, start=1)},
        {
            part.number: source.id
            for source in plan.sources
            for part in source.parts
            if isinstance(part, _Inlet)
        },
        job_parameters(env.get_configuration()),
    )


def _exchanged(env: StreamExecutionEnvironment, stream: DataStream) -> DataStream:
    """Return the stream after an exchange, so that no operator is chained to its source.

    The exchange leads to one subtask, so that records stay in order.
    """
    node_id = env.graph.add(
        PARTITION,
        "global",
        (stream.node_id,),
        type_info=stream.get_type(),
        origin=None,
        partitioning=Partitioning(StreamPartitioner.GLOBAL),
    )
    return env.stream_of(node_id)


def builder_of(
    operator: Any, key_selector: Any, broadcast_states: Sequence[MapStateDescriptor]
) -> tuple[Build, list[TypeInformation | None]]:
    """Return a function that builds the stream under test, and the known types of its inputs."""
    if isinstance(operator, DataStream):
        return _part_of_a_program(operator)
    if isinstance(operator, Function):
        return _of_function(operator, key_selector, broadcast_states)
    if not callable(operator) or isinstance(operator, type):
        raise ArgumentError.here(
            f"a harness cannot run {operator!r}",
            hint="Pass a function object (MyFunction(), with parentheses), a stream, or a function "
            "that makes the stream under test from its input streams.",
        )
    positional = {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}
    parameters = [p for p in signature(operator).parameters.values() if p.kind in positional]
    inputs = [parameter for parameter in parameters if parameter.default is Parameter.empty]
    if not inputs:
        raise ArgumentError.here(
            f"{operator!r} takes no streams, so nothing could be pushed",
            hint="Give it one parameter per input, without a default.",
        )
    return operator, [None] * len(inputs)


def _of_function(
    function: Function, key_selector: Any, broadcast_states: Sequence[MapStateDescriptor]
) -> tuple[Build, list[TypeInformation | None]]:
    selectors = key_selector if isinstance(key_selector, tuple) else (key_selector,) * 2

    def keyed(stream: DataStream, number: int) -> DataStream:
        selector = selectors[number]
        return stream if selector is None else stream.key_by(selector)

    def broadcast(first: DataStream, second: DataStream) -> DataStream:
        rules = second.broadcast(*broadcast_states)
        stream: DataStream = keyed(first, 0).connect(rules).process(function)  # type: ignore[call-overload]
        return stream

    if isinstance(function, BaseBroadcastProcessFunction):
        return broadcast, [None, None]
    of_two = _method(_TWO_INPUTS, function)
    if of_two is not None:
        return lambda a, b: of_two(keyed(a, 0).connect(keyed(b, 1))), [None, None]
    of_one = _method(_ONE_INPUT, function)
    if of_one is not None:
        return lambda stream: of_one(keyed(stream, 0)), [None]
    raise ArgumentError.here(
        f"a harness cannot run a {type(function).__name__} alone",
        hint="Pass a function that makes the stream: lambda s: s.key_by(…).window(…).aggregate(f).",
    )


def _method(methods: Mapping[type, str], function: Function) -> Callable[[Any], Any] | None:
    """Return a function that passes a user function to a method of a stream."""
    names = (name for base, name in methods.items() if isinstance(function, base))
    return next((methodcaller(name, function) for name in names), None)


def _part_of_a_program(stream: DataStream) -> tuple[Build, list[TypeInformation | None]]:
    """Return the last operator of a stream alone, with its keys and partitionings."""
    graph = stream.get_execution_environment().graph
    operator = graph.node(stream.node_id)
    if not operator.kind.is_operator:
        raise ArgumentError.here(
            f"{operator.name!r} is no operator that a harness could run",
            hint="Pass the stream that the operator under test returned; side outputs are named "
            "with side_outputs=….",
        )
    before: list[list[Node]] = []
    types: list[TypeInformation | None] = []
    for source in operator.inputs:
        [way] = ways(source, lambda key: _kept_inputs(graph.node(key)))
        *kept, last = map(graph.node, way)
        before.append(kept[::-1])
        types.append(last.type_info)

    def build(*inputs: DataStream) -> DataStream:
        env = inputs[0].get_execution_environment()
        reads = []
        for inlet, kept in zip(inputs, before, strict=True):
            node_id = inlet.node_id
            for node in kept:
                node_id = _copy(env, node, (node_id,))
            reads.append(node_id)
        return env.stream_of(_copy(env, operator, tuple(reads)))

    return build, types


def _kept_inputs(node: Node) -> tuple[int, ...]:
    return node.inputs if node.kind in _KEPT else ()


def _copy(env: StreamExecutionEnvironment, node: Node, inputs: tuple[int, ...]) -> int:
    values = {f.name: getattr(node, f.name) for f in fields(node) if f.name not in _OF_A_PLACE}
    uid = values.pop("uid")
    node_id = env.graph.add(node.kind, node.name, inputs, **values)
    env.graph.change(node_id, uid=uid)
    return node_id

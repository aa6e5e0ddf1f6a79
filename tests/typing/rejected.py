"""Mistakes a type checker finds.

Every ignored error is one: mypy refuses an ignore without an error of that code, so the file as a
whole is only accepted if each mistake is found.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.common import Time, Types
from penstock.datastream import (
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    KeyedStream,
    MapFunction,
    MultipleConnectedStreams,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    TimeWindow,
    ValueStateDescriptor,
)
from penstock.datastream.window import TumblingEventTimeWindows


class Length(MapFunction[str, int]):
    def map(self, value: str) -> int:
        return len(value)


class GivesText(MapFunction[str, int]):
    def map(self, value: str) -> str:  # type: ignore[override]
        return value


class TakesNumbers(ProcessFunction[int, int]):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[int]:
        yield value


class ByText(KeyedProcessFunction[str, int, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.count.update("one")  # type: ignore[arg-type]
        yield value


class TextAndNumber(CoMapFunction[str, int, str]):
    def map1(self, value: str) -> str:
        return value

    def map2(self, value: int) -> str:
        return str(value)


class PerWindow(ProcessWindowFunction[str, str, str, TimeWindow]):
    def process(self, key: str, context: object, elements: object) -> list[str]:
        return [key]


class KeyOfNumber(ProcessWindowFunction[int, int, int, TimeWindow]):
    def process(self, key: int, context: object, elements: object) -> list[int]:
        return [key]


class OfAll(ProcessAllWindowFunction[int, int, TimeWindow]):
    def process(self, context: object, elements: object) -> list[int]:
        return []


def mistakes(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2])
    words = env.from_collection(["a"])

    numbers.map(Length())  # type: ignore[arg-type]
    numbers.map(lambda n: n.upper())  # type: ignore[attr-defined]
    numbers.flat_map(lambda n: n)  # type: ignore[arg-type, return-value]
    numbers.map(str, output_type=str)  # type: ignore[call-overload]
    numbers.union(words)  # type: ignore[arg-type]
    numbers.map(Length)  # type: ignore[arg-type]
    words.process(TakesNumbers())  # type: ignore[arg-type]
    numbers.key_by(lambda n: n).process(ByText())  # type: ignore[arg-type]
    numbers.key_by(lambda n: n).process(TakesNumbers())  # type: ignore[call-overload]
    numbers.key_by(lambda n: n).reduce(lambda a, b: str(a + b))  # type: ignore[arg-type, return-value]
    numbers.connect(words).map(TextAndNumber())  # type: ignore[arg-type]
    MultipleConnectedStreams(numbers, 5)  # type: ignore[arg-type]
    MultipleConnectedStreams(numbers).transform("length", None, Length())  # type: ignore[arg-type]
    numbers.get_side_output("late")  # type: ignore[arg-type]
    numbers.windows()  # type: ignore[attr-defined]
    numbers.set_parallelism("two")  # type: ignore[arg-type]

    minutes = TumblingEventTimeWindows.of(Time.minutes(1))
    cut = numbers.key_by(lambda n: n).window(minutes)
    cut.process(PerWindow())  # type: ignore[arg-type]
    cut.apply(KeyOfNumber())  # type: ignore[call-overload]
    cut.process(OfAll())  # type: ignore[arg-type]
    cut.reduce(lambda a, b: str(a + b))  # type: ignore[arg-type, return-value]
    cut.reduce(lambda a, b: a + b, PerWindow())  # type: ignore[arg-type]
    cut.aggregate(Length())  # type: ignore[call-overload]
    numbers.window_all(minutes).process(KeyOfNumber())  # type: ignore[arg-type]

    tag: OutputTag[int] = OutputTag("late", Types.STRING())  # type: ignore[arg-type]
    strings: DataStream[str] = numbers.map(lambda n: n + 1)  # type: ignore[arg-type, return-value]
    keyed: KeyedStream[int, str] = numbers.key_by(lambda n: n)  # type: ignore[arg-type, return-value]
    del tag, strings, keyed

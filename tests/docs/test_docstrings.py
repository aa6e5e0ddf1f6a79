"""Every public class and method has the docstring that its place asks for.

The rule: everything public has a docstring. In `penstock.api`, `penstock.connectors` and
`penstock.testing` each parameter is described, each class has an example, and each method of the
environment, of stream handles and of testing has one of its own. Getters, properties and methods
that only raise need none.
"""

from __future__ import annotations

import inspect

from tests.docs.public_api import (
    DESCRIBED,
    Method,
    classes_of,
    has_example,
    is_exempt_from_examples,
    methods_of,
    needs_an_example,
    public_objects,
    undescribed,
)
from tools.site.engine_methods import NOT_FOR_PROGRAMS

OBJECTS = public_objects()
CLASSES = classes_of(OBJECTS)
FUNCTIONS = {name: each for name, each in OBJECTS.items() if inspect.isfunction(each)}
METHODS = [method for cls in CLASSES for method in methods_of(cls)]

ONLY_GIVEN = {
    "Aggregator",
    "BaseBroadcastProcessFunction",
    "CleanupStrategies",
    "CustomStateBackend",  # always refused
    "GraphBuilder",
    "IncrementalCleanupStrategy",
    "JobID",
    "MergingState",
    "Reducer",
    "RocksdbCompactFilterCleanupStrategy",
}
"""Classes that a program neither makes nor derives from."""


def test_everything_public_has_a_docstring():
    lacking = [str(method) for method in METHODS if not method.text]
    lacking += [name for name, each in OBJECTS.items() if not inspect.getdoc(each)]
    assert lacking == []


def test_every_parameter_is_described():
    lacking = {
        str(method): undescribed(method.text, method.function)
        for method in METHODS
        if str(method).startswith(DESCRIBED) and not method.is_refused
    }
    lacking |= {
        name: undescribed(inspect.getdoc(each) or "", each) for name, each in FUNCTIONS.items()
    }
    exempt = tuple(f".{name}" for name in NOT_FOR_PROGRAMS)
    assert {
        name: each for name, each in lacking.items() if each and not name.endswith(exempt)
    } == {}


def test_every_method_of_a_handle_has_an_example():
    lacking = {
        f"{method.owner.__name__}.{method.name}"
        for method in METHODS
        if needs_an_example(method) and ">>> " not in (inspect.getdoc(method.function) or "")
    }
    assert lacking - NOT_FOR_PROGRAMS == set()


def test_every_class_and_function_has_an_example():
    lacking = {
        cls.__qualname__
        for name, cls in OBJECTS.items()
        if name.startswith(DESCRIBED)
        and isinstance(cls, type)
        and not is_exempt_from_examples(cls)
        and not has_example(cls)
    }
    lacking |= {
        name
        for name, each in FUNCTIONS.items()
        if name.startswith(DESCRIBED) and ">>> " not in (inspect.getdoc(each) or "")
    }
    assert lacking == ONLY_GIVEN


def test_methods_that_no_program_calls_are_there():
    defined = {f"{method.owner.__name__}.{method.name}" for method in METHODS}
    assert NOT_FOR_PROGRAMS - defined == set()


def test_what_a_method_returns_is_described():
    lacking = [
        str(method)
        for method in METHODS
        if needs_an_example(method)
        and method.returned not in {"None", "NoReturn"}
        and "return" not in method.text.partition("\n")[0].lower()
        and "Returns:" not in method.text
    ]
    assert lacking == []


def test_a_forgotten_docstring_is_noticed():
    class Handle:
        def rate(self, per_second: int) -> None:
            pass

        def get_rate(self) -> int:
            """Return the rate."""
            return 0

        def limit(self, rate: int, burst: int) -> None:
            """Set the limit.

            Args:
                rate: Records per second.
            """

    Handle.__module__ = "penstock.api.streams.handle"
    rate, get_rate, limit = (
        Method(Handle, name, vars(Handle)[name], is_property=False)
        for name in ("rate", "get_rate", "limit")
    )
    assert rate.text == ""
    assert needs_an_example(rate)
    assert not needs_an_example(get_rate)
    assert undescribed(limit.text, limit.function) == ["burst"]
    assert not has_example(Handle)


def test_what_a_program_reaches_is_found():
    assert {
        "penstock.api.streams.data_stream.DataStream",
        "penstock.api.streams.paired_streams.Where",  # returned by `where`
        "penstock.connectors.files.file_sink.FileSink",  # a facade in a facade
        "penstock.testing.in_process.run_in_process",
    } <= OBJECTS.keys()
    assert "StreamOperations.map" in {f"{m.owner.__name__}.{m.name}" for m in METHODS}

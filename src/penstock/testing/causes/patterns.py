"""The calls whose results differ between runs, by the dotted paths of what is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from fnmatch import fnmatchcase

from penstock.testing.causes.cause import CauseKind


class CallForm(Enum):
    """Calls to which a pattern applies."""

    ALWAYS = auto()
    """All, and references to the function."""

    WITHOUT_ARGUMENTS = auto()
    """Those without arguments, such as `random.Random()`."""

    WITHOUT_TIME = auto()
    """Those with a format at most, such as `time.strftime("%H")`."""

    NEVER = auto()
    """None: an exception from the patterns after it."""


@dataclass(frozen=True, slots=True)
class CallPattern:
    """Functions of one kind.

    Attributes:
        paths: Their dotted paths, with wildcards.
    """

    paths: tuple[str, ...]
    kind: CauseKind
    when: CallForm = CallForm.ALWAYS

    def matches(self, path: str, arguments: int | None) -> bool:
        """Return whether a call with a number of arguments is one; None is a reference without a call."""
        return any(fnmatchcase(path, pattern) for pattern in self.paths) and _APPLIES[self.when](
            arguments
        )


_APPLIES: dict[CallForm, Callable[[int | None], bool]] = {
    CallForm.ALWAYS: lambda _: True,
    CallForm.NEVER: lambda _: True,
    CallForm.WITHOUT_ARGUMENTS: lambda arguments: arguments == 0,
    CallForm.WITHOUT_TIME: lambda arguments: arguments is not None and arguments <= 1,
}

CALLS: tuple[CallPattern, ...] = (
    CallPattern(
        (
            *(
                f"time.{name}"
                for name in ("time", "time_ns", "monotonic*", "perf_counter*", "process_time*")
            ),
            *("time.thread_time*", "time.clock_gettime*"),
            *(
                "datetime.datetime.now",
                "datetime.datetime.utcnow",
                "datetime.datetime.today",
                "datetime.date.today",
            ),
            *("pandas.*Timestamp.now", "pandas.*Timestamp.utcnow", "pandas.*Timestamp.today"),
        ),
        CauseKind.CLOCK,
    ),
    CallPattern(
        ("time.localtime", "time.gmtime", "time.ctime", "time.asctime"),
        CauseKind.CLOCK,
        CallForm.WITHOUT_ARGUMENTS,
    ),
    CallPattern(("time.strftime",), CauseKind.CLOCK, CallForm.WITHOUT_TIME),
    CallPattern(
        (
            "random.Random",
            "numpy.random.*default_rng",
            "numpy.random.*RandomState",
            "numpy.random.*PCG64*",
        ),
        CauseKind.RANDOM,
        CallForm.WITHOUT_ARGUMENTS,
    ),
    CallPattern(
        (
            *(
                "random",
                "random.Random",
                "random.Random.seed",
                "random.Random.__init__",
                "random.Random.getstate",
            ),
            *(
                "numpy.random",
                "numpy.random.*default_rng",
                "numpy.random.*RandomState",
                "numpy.random.*Generator",
            ),
            *("numpy.random.*SeedSequence", "numpy.random.*PCG64*", "numpy.random.*seed"),
        ),
        CauseKind.RANDOM,
        CallForm.NEVER,
    ),
    CallPattern(
        (
            "random.*",
            "secrets.*",
            "uuid.uuid1",
            "uuid.uuid4",
            "os.urandom",
            "os.getrandom",
            "numpy.random.*",
        ),
        CauseKind.RANDOM,
    ),
    CallPattern(("os.getenv", "os.environ*", "os._Environ*"), CauseKind.ENVIRONMENT),
    CallPattern(
        ("builtins.hash", "builtins.id", "builtins.object.__hash__", "builtins.object.__repr__"),
        CauseKind.UNSTABLE_KEY,
    ),
)
"""The table; the first pattern that matches counts."""

METHODS: dict[str, CauseKind] = {
    "current_processing_time": CauseKind.CLOCK,
    "get_current_processing_time": CauseKind.CLOCK,
    "register_processing_time_timer": CauseKind.CLOCK,
}
"""Methods of contexts and timer services, whose objects are not known before a function runs."""

WATERMARK_METHODS = frozenset({"current_watermark", "get_current_watermark"})
"""Methods that return the watermark of the moment."""

MUTATORS = frozenset({
    "append", "appendleft", "add", "clear", "discard", "extend", "extendleft", "insert", "pop", "popitem",
    "popleft", "remove", "reverse", "rotate", "setdefault", "sort", "subtract", "update", "difference_update",
    "intersection_update", "symmetric_difference_update",
    "__setitem__", "__delitem__",
})  # fmt: skip
"""Methods that change a container of Python."""

METRICS = frozenset(
    {
        "counter",
        "gauge",
        "meter",
        "histogram",
        "distribution",
        "get_metrics_group",
        "get_metric_group",
        "getLogger",
    }
)
"""Methods that return an object whose values reach no record."""

REPORTS = frozenset({"debug", "info", "warning", "error", "exception", "log", "critical", "print"})
"""Functions whose arguments reach no record."""


def kind_of_call(path: str, arguments: int | None) -> CauseKind | None:
    """Return the cause that a call is; None if it is none.

    Example:
        >>> kind_of_call("time.time", 0).code, kind_of_call("random.Random", 1)
        ('READS_CLOCK', None)
    """
    call = next((row for row in CALLS if row.matches(path, arguments)), None)
    return None if call is None or call.when is CallForm.NEVER else call.kind

"""Events as sentences, the same on a terminal and in a log.

history: 4,000,000 records in 3.2 s (1,250,000 records/s)
switched in 0.8 s at watermark 2013-10-31T23:59:00Z
live: micro-batch 12, 1,000 records, 2,000 records/s, 5,000 in all, lag 1.5 s
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import singledispatch
from typing import Any

from penstock.metrics.histogram import HistogramValue
from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeValue,
    MeterValue,
    MetricValue,
)
from penstock.observe.events.job_events import (
    STOPPED,
    BatchProgress,
    ConfirmFailed,
    FunctionChanged,
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MetricSummary,
    MicroBatch,
    PendingInputMeasured,
    Repeating,
    Restarting,
    Resumed,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    SavepointFailed,
    SavepointTaken,
    StartedEmpty,
    Switched,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_FEW_DAYS = 2 * _DAY
_FEW = 10  # lower rates have a decimal
_NO_LAG_SECONDS = 200 * 365 * _DAY  # outside: a watermark that stands for "nothing" or "the end"


@singledispatch
def sentence(event: JobEvent, run: str) -> str:
    """Return one line about `event`, without a line break."""
    return f"{run}: {event}"


@sentence.register
def _(event: JobStarted, run: str) -> str:
    return f"{run}: started, {event.mode}, parallelism {event.parallelism:,}"


@sentence.register
def _(event: RunStarted, run: str) -> str:
    return f"{run}: started, reads {event.reads}"


@sentence.register
def _(event: BatchProgress, run: str) -> str:
    parts = [f"{event.done_tasks:,} of {event.total_tasks:,} tasks"]
    if event.records:
        parts += [records(event.records), *rate(event.records, event.seconds)]
    return f"{run}: {', '.join(parts)} after {human_duration(event.seconds)}"


@sentence.register
def _(event: MicroBatch, run: str) -> str:
    parts = [
        f"micro-batch {event.number:,}",
        records(event.records),
        *rate(event.records, event.seconds),
        f"{event.total_records:,} in all",
    ]
    if event.lag_ms is not None and abs(event.lag_ms) < _NO_LAG_SECONDS * 1000:
        parts.append(f"lag {human_duration(event.lag_ms / 1000)}")
    return f"{run}: {', '.join([*parts, *_pending(event)])}{_late(event)}"


def _pending(event: MicroBatch | PendingInputMeasured) -> Iterator[str]:
    if event.records_behind:
        yield f"{records(event.records_behind)} behind"
    if event.files_behind:
        yield f"{event.files_behind:,} file{'' if event.files_behind == 1 else 's'} behind"
    if event.catch_up_seconds:
        yield f"caught up in about {human_duration(event.catch_up_seconds)}"


@sentence.register
def _(event: PendingInputMeasured, run: str) -> str:
    return f"{run}: {', '.join(_pending(event)) or 'not behind'}"


@sentence.register
def _(event: MetricsReported, run: str) -> str:
    return f"{run}: {', '.join(metric_parts(event)) or 'no metrics'}"


@sentence.register
def _(event: RunFinished, run: str) -> str:
    speed = "".join(f" ({text})" for text in rate(event.records, event.seconds))
    how = ", stopped after" if event.outcome == STOPPED else " in"
    return (
        f"{run}: {records(event.records)}{how} {human_duration(event.seconds)}{speed}{_late(event)}"
    )


def _late(event: MicroBatch | RunFinished) -> str:
    dropped = [f"{count:,} by {uid}" for uid, count in sorted(event.late_records.items())]
    return f"; late records dropped: {', '.join(dropped)}" if dropped else ""


@sentence.register
def _(event: Switched, run: str) -> str:  # noqa: ARG001
    place = "" if event.watermark_ms is None else f" at watermark {instant(event.watermark_ms)}"
    return f"switched in {human_duration(event.seconds)}{place}"


@sentence.register
def _(event: RoundProgress, run: str) -> str:  # noqa: ARG001
    return f"round {event.number}: {records(event.records)} after {human_duration(event.seconds)}"


@sentence.register
def _(event: RoundFinished, run: str) -> str:  # noqa: ARG001
    speed = "".join(f" ({text})" for text in rate(event.records, event.seconds))
    took = f"{records(event.records)} in {human_duration(event.seconds)}{speed}"
    return (
        f"round {event.number}: {took}, {where_round_stands(event.behind, is_last=event.is_last)}"
    )


def where_round_stands(behind: Sequence[Mapping[str, Any]], *, is_last: bool) -> str:
    """Return the distance of a round of an upgrade to the old job, in words."""
    if is_last:
        return "at the position of the old job, which has stopped"
    parts = [f"{source['ahead']:,} {source['unit']} of {source['source']}" for source in behind]
    return f"behind the old job by {', '.join(parts)}" if parts else "not behind the old job"


@sentence.register
def _(event: Resumed, run: str) -> str:  # noqa: ARG001
    return f"resumed: {event.step}"


@sentence.register
def _(event: FunctionChanged, run: str) -> str:  # noqa: ARG001
    return changed_function(event.operator, event.uid, event.since)


def changed_function(operator: str, uid: str, since: str) -> str:
    """Return the sentence about an operator whose function has changed."""
    named = operator if operator == uid else f"{operator} (uid {uid})"
    return f"the function of {named} differs from that in {since}; its state is kept"


@sentence.register
def _(event: StartedEmpty, run: str) -> str:  # noqa: ARG001
    parts = ", ".join(event.parts)
    return f"results lack the history of source {event.source}, without which these begin: {parts}"


@sentence.register
def _(event: Repeating, run: str) -> str:
    what = "Spark computed lost output again, and it differs"
    return f"{run}: again from the last commit ({event.number} of {event.limit}) because {what}"


@sentence.register
def _(event: Restarting, run: str) -> str:
    of = "" if event.limit is None else f" of {event.limit:,}"
    after = human_duration(event.delay_seconds)
    return f"{run}: restarting ({event.number:,}{of}) in {after} because {event.reason}"


@sentence.register
def _(event: SavepointTaken, run: str) -> str:
    stops = ", and the job stops" if event.stops else ""
    taken = f"{run}: savepoint {event.path} in {human_duration(event.seconds)}{stops}"
    return taken + (f"; {unnamed_state(event.unnamed)}" if event.unnamed else "")


def unnamed_state(uids: Sequence[str]) -> str:
    """Return the warning about operators without a uid whose state is in a savepoint."""
    names = ", ".join(uids)
    return f"operators without a uid, whose state only their place in the program identifies: {names}; set a uid on each"


@sentence.register
def _(event: JobEnded, run: str) -> str:
    why = f", {event.error['problem'].partition(chr(10))[0]}" if event.error else ""
    return f"{run}: ended, {event.status.lower()}{why}"


@sentence.register
def _(event: SavepointFailed, run: str) -> str:
    return f"{run}: no savepoint, {event.problem}; the job goes on"


@sentence.register
def _(event: ConfirmFailed, run: str) -> str:
    problem = event.problem.partition("\n")[0]
    return f"{run}: the confirmation of read positions to {event.source} failed and is repeated, {problem}"


def metric_parts(event: MetricsReported) -> list[str]:
    """Return one text per metric, in order of name; metrics of state and times come last."""
    parts = [f"{name} {_measured(event.metrics[name])}" for name in sorted(event.metrics)]
    parts += [f"state.{name} {count:,}" for name, count in sorted(event.state.items())]
    return parts + [f"seconds.{name} {spent:.2f}" for name, spent in sorted(event.seconds.items())]


@singledispatch
def _measured(value: MetricValue | MetricSummary) -> str:
    return f"{value}"


@_measured.register
def _(value: MetricSummary) -> str:
    return ", ".join(f"{name} {part}" for name, part in value.values.items() if part is not None)


@_measured.register
def _(value: CounterValue) -> str:
    return f"{value.count:,}"


@_measured.register
def _(value: GaugeValue) -> str:
    return f"{value.value}"


@_measured.register
def _(value: MeterValue) -> str:
    return f"{value.count:,} ({value.rate:,.1f}/s)"


@_measured.register
def _(value: HistogramValue) -> str:
    if not value.buckets:
        return "no values"
    shares = ", ".join(f"p{share} {value.quantile(share / 100):,}" for share in (50, 95, 99))
    return f"{value.count:,} values, {value.min:,} to {value.max:,}, {shares}"


@_measured.register
def _(value: DistributionValue) -> str:
    if value.mean is None:
        return "no values"
    return f"{value.count:,} values, {value.min} to {value.max}, mean {value.mean:.6g}"


def records(count: int) -> str:
    """Return a count of records with its noun.

    >>> records(4_000_000)
    '4,000,000 records'
    """
    return f"{count:,} record{'' if count == 1 else 's'}"


def rate(count: int, seconds: float) -> tuple[str, ...]:
    """Return the records per second, or nothing if there are none or no time has passed.

    >>> rate(1_000, 0.5), rate(1, 8.0)
    (('2,000 records/s',), ('0.1 records/s',))
    """
    if count == 0 or seconds <= 0:
        return ()
    per_second = count / seconds
    return (f"{per_second:,.{1 if per_second < _FEW else 0}f} records/s",)


def human_duration(seconds: float) -> str:
    """Return a duration in at most two units.

    >>> human_duration(3.21), human_duration(200), human_duration(18_720), human_duration(600)
    ('3.2 s', '3 min 20 s', '5 h 12 min', '10 min')
    """
    if seconds < 0:
        return f"-{human_duration(-seconds)}"
    if round(seconds, 1) < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return _two_units(whole // _MINUTE, "min", whole % _MINUTE, "s")
    if whole < _FEW_DAYS:
        return _two_units(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "min")
    return f"{whole // _DAY:,} days"


def _two_units(count: int, unit: str, rest: int, small: str) -> str:
    return f"{count} {unit} {rest} {small}" if rest else f"{count} {unit}"


_UNITS = ("B", "kB", "MB", "GB", "TB")
_KILO = 1_000


def human_bytes(size: float) -> str:
    """Return a size in the unit that fits.

    >>> human_bytes(3), human_bytes(4_200_000), human_bytes(9_999_999_999_999_999)
    ('3 B', '4.2 MB', '10,000.0 TB')
    """
    unit = 0
    while size >= _KILO and unit < len(_UNITS) - 1:
        size, unit = size / _KILO, unit + 1
    return f"{size:,.1f} {_UNITS[unit]}" if unit else f"{size:,} B"


def instant(epoch_ms: int) -> str:
    """Return a time in UTC; milliseconds only if there are any.

    A time outside the calendar, such as the watermark after the last record, is a phrase.

    >>> instant(1_383_263_940_000)
    '2013-10-31T23:59:00Z'
    """
    try:
        when = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return "end of input" if epoch_ms > 0 else "start of input"
    precision = "milliseconds" if epoch_ms % 1000 else "seconds"
    return when.isoformat(timespec=precision).replace("+00:00", "Z")

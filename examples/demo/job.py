"""The demo's program: three results from one stream of departures."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.common import Duration, Row, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import FileSink, Source

OUT_OF_ORDER = Duration.of_days(4)
"""No flight of the package is more than 22 hours late, and the files of three days arrive at
once, in any order."""

SILENCE = Duration.of_days(14)
"""An aircraft that has not departed for longer is reported."""

DELAYED_MINUTES = 15
"""A departure later than this counts as delayed."""

SILENCE_MS = SILENCE.to_millis()

DEPARTURE = Types.ROW_NAMED(
    [
        *("dep_ms", "carrier", "origin", "dest", "tailnum"),
        *("dep_delay", "arr_delay", "distance", "cancelled"),
    ],
    [Types.LONG(), *[Types.STRING()] * 4, *[Types.LONG()] * 3, Types.BOOLEAN()],
)
AIRCRAFT = Types.ROW_NAMED(
    ["tailnum", "flights", "departures", "delay_minutes", "mean_delay"],
    [Types.STRING(), *[Types.LONG()] * 3, Types.DOUBLE()],
)
ROUTE = Types.ROW_NAMED(
    ["carrier", "origin", "flights", "departures", "delayed", "delay_minutes"],
    [*[Types.STRING()] * 2, *[Types.LONG()] * 4],
)
ALERT = Types.ROW_NAMED(
    ["tailnum", "last_ms", "alert_ms"], [Types.STRING(), Types.LONG(), Types.LONG()]
)

Aircraft, Route, Alert = (Row(*names.get_field_names()) for names in (AIRCRAFT, ROUTE, ALERT))


class SilentAircraft(KeyedProcessFunction):
    """Reports an aircraft `SILENCE` after a departure that no other one followed.

    Whether one followed is decided when the timer fires, from what lies at or before the timer:
    all of that has arrived by then. What lies later may or may not have, so it has no say. The
    answer is thus the same however far the watermark lags.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state: recent departures in order, the latest ones not yet decided."""
        self._departures = runtime_context.get_state(ValueStateDescriptor("departures"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        """Keep a departure and look again after `SILENCE`."""
        departures = self._departures.value() or []
        insort(departures, value.dep_ms)
        self._departures.update(departures)
        ctx.timer_service().register_event_time_timer(value.dep_ms + SILENCE_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Row]:
        """Look whether a departure followed that of `timestamp - SILENCE`."""
        last = timestamp - SILENCE_MS
        departures = self._departures.value()
        del departures[: bisect_right(departures, last)]
        self._departures.update(departures or None)
        if not departures or departures[0] > timestamp:
            yield Alert(ctx.get_current_key(), last, timestamp)


def departure_time(departure: Any, _: int) -> int:
    """Return the event time of a departure."""
    time_ms: int = departure.dep_ms
    return time_ms


def tail_number(record: Any) -> str | None:
    """Return the aircraft; None if the package does not know it."""
    tailnum: str | None = record.tailnum
    return tailnum


def carrier_and_origin(record: Any) -> tuple[str, str]:
    """Return carrier and origin."""
    return record.carrier, record.origin


def took_place(departure: Any) -> bool:
    """Return whether the flight departed."""
    return not departure.cancelled


def of_aircraft(departure: Any) -> Row:
    """Return what a flight says about its aircraft; the mean is null without a departure."""
    if departure.cancelled:
        return Aircraft(departure.tailnum, 1, 0, 0, None)
    minutes = departure.dep_delay
    return Aircraft(departure.tailnum, 1, 1, minutes, float(minutes))


def add_aircraft(so_far: Any, new: Any) -> Row:
    """Return what two rows of one aircraft say together."""
    tailnum, flights, departures, minutes, _ = so_far
    _, more_flights, more_departures, more_minutes, _ = new
    departures += more_departures
    minutes += more_minutes
    mean = minutes / departures if departures else None
    return Aircraft(tailnum, flights + more_flights, departures, minutes, mean)


def of_route(departure: Any) -> Row:
    """Return what a flight says about its carrier and origin."""
    if departure.cancelled:
        return Route(departure.carrier, departure.origin, 1, 0, 0, 0)
    minutes = departure.dep_delay
    delayed = 1 if minutes > DELAYED_MINUTES else 0
    return Route(departure.carrier, departure.origin, 1, 1, delayed, minutes)


def add_route(so_far: Any, new: Any) -> Row:
    """Return the sum of two rows of one carrier and origin."""
    carrier, origin, flights, departures, delayed, minutes = so_far
    _, _, more_flights, more_departures, more_delayed, more_minutes = new
    return Route(
        carrier,
        origin,
        flights + more_flights,
        departures + more_departures,
        delayed + more_delayed,
        minutes + more_minutes,
    )


def build(
    env: StreamExecutionEnvironment, source: Source, out: Path, *, has_routes: bool = True
) -> None:
    """Add the program to `env`.

    Every record yields a new row of `aircraft` and of `routes`; the row with the most
    `flights` is the answer for its key. `alerts` is append-only.

    Args:
        env: Where.
        source: Rows of the type `DEPARTURE`.
        out: Directory of the results, one directory each.
        has_routes: Whether to add `routes`.
    """
    departures = env.from_source(
        source,
        WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDER).with_timestamp_assigner(
            departure_time
        ),
        "departures",
    ).uid("departures")
    flights = departures.map(of_aircraft, AIRCRAFT).uid("flights by aircraft")
    aircraft = flights.key_by(tail_number).reduce(add_aircraft)
    aircraft.uid("aircraft").sink_to(FileSink.parquet(out / "aircraft")).uid("aircraft rows")

    flown = departures.filter(took_place).uid("flights that departed")
    silent = flown.key_by(tail_number).process(SilentAircraft(), ALERT)
    silent.uid("silent").sink_to(FileSink.parquet(out / "alerts")).uid("alerts")

    if not has_routes:
        return
    legs = departures.map(of_route, ROUTE).uid("flights by route")
    routes = legs.key_by(carrier_and_origin).reduce(add_route)
    routes.uid("routes").sink_to(FileSink.parquet(out / "routes")).uid("route rows")

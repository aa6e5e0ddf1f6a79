"""The picture of the README: records per second over time, of jobs that ran (`tools.support.recorded_switch`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tools.site.svg import BLUE, GREEN, INK, MUTED, drawing, text
from tools.support.recorded_switch import BATCH, BOTH, LIVE, LIVE_RATE, RECORDED, Span, spans_of

_WIDTH, _LEFT, _RIGHT = 720, 76, 700
_TOP, _ROW, _PLOT = 10, 178, 100
_LEAST, _GREATEST = 4, 7.2
"""Decimal logarithms of the records per second at the bottom and at the top of a row."""
_SIZE, _SMALL = 22, 19
_BAR_SECONDS = 1
_TICK_SECONDS = 20
_COLOURS = {"history": BLUE, "live": GREEN}
_STYLE = f"""<style>
.card {{ fill: #ffffff }}
[fill="{INK}"], [fill="{MUTED}"] {{ fill: #334155 }}
text[fill="{BLUE}"] {{ fill: #1d4ed8 }}
text[fill="{GREEN}"] {{ fill: #15803d }}
@media (prefers-color-scheme: dark) {{
.card {{ fill: #0d1117 }}
[fill="{INK}"], [fill="{MUTED}"] {{ fill: #cbd5e1 }}
text[fill="{BLUE}"] {{ fill: #93c5fd }}
text[fill="{GREEN}"] {{ fill: #86efac }}
}}
</style>"""
"""The picture has a ground of its own: a page may be dark where the system is light."""


def switch() -> str:
    """Return a row for each job, upon one axis of time."""
    spans = spans_of(RECORDED)
    end = max(span.end for span in spans)
    of = {job: [span for span in spans if span.job == job] for job in (BOTH, BATCH, LIVE)}
    height = _TOP + _ROW * len(of) + 30
    shapes = [_STYLE, f'<rect class="card" width="{_WIDTH}" height="{height}" rx="8"/>']
    for row, words in enumerate((_of_both(of[BOTH]), _of_batch(of[BATCH]), _of_live(of))):
        shapes += _row(_TOP + _ROW * row, words, list(of.values())[row], end)
    ticks = range(0, int(end) + 1, _TICK_SECONDS)
    shapes += [
        text(_x(tick, end), height - 10, f"{tick} s" if tick else "start", size=_SMALL)
        for tick in ticks
    ]
    return drawing(
        *(_WIDTH, height, "Records per second over time, of one job, and of two in its place"),
        *shapes,
    )


Words = tuple[str, tuple[tuple[str, str], ...]]
"""Title of a row, and its parts below in their colours."""


def _of_both(spans: Sequence[Span]) -> Words:
    history, switched = spans[0], spans[1]
    now = _caught_up(spans[2:], 0)
    return f"Penstock: one job, {history.records / 1e6:.0f} million rows", (
        (f"history: {_rate(history)}", BLUE),
        (f"switch: {1000 * (switched.end - switched.begin):.0f} ms", INK),
        (f"live: up to date after {now:.0f} s", GREEN),
    )


def _of_batch(spans: Sequence[Span]) -> Words:
    (history,) = spans
    return "In its place, first a batch job …", (
        (f"history: {_rate(history)}", BLUE),
        ("ends; what arrives waits for the next run", INK),
    )


def _of_live(of: dict[str, list[Span]]) -> Words:
    history = of[BATCH][0].records
    spans = [span for span in of[LIVE] if span.run == "live"]
    now = _caught_up(spans, history)
    behind = Span(LIVE, "live", spans[0].begin, now, history)
    return "… and a streaming job, which reads all of it live", (
        (f"{_rate(behind)}", GREEN),
        (f"up to date after {now:.0f} s", GREEN),
    )


def _caught_up(spans: Sequence[Span], history: int) -> float:
    """Return when everything was committed that had arrived when the micro-batch began."""
    total = 0
    for span in spans:
        total += span.records
        if total >= history + LIVE_RATE * (span.begin - 1):
            return span.end
    raise ValueError("the recorded streaming job has not caught up: record more seconds")


def _rate(span: Span) -> str:
    return f"{span.records / (span.end - span.begin) / 1e6:.1f} million/s"


def _row(y: int, words: Words, spans: Sequence[Span], end: float) -> list[str]:
    title, parts = words
    shapes = [
        text(_LEFT, y + 22, title, size=_SIZE, at="start"),
        text(_RIGHT, y + 22, "records/s", size=_SMALL, at="end"),
    ]
    x = _LEFT
    for part, colour in parts:
        shapes.append(text(x, y + 48, part, colour, size=_SMALL, at="start"))
        x += round(9.5 * len(part)) + 22
    bottom = y + 56 + _PLOT
    for power in range(_LEAST + 1, int(_GREATEST) + 1):
        level = bottom - _height(10**power)
        shapes += [
            f'<path d="M{_LEFT} {level}H{_RIGHT}" stroke="{MUTED}" stroke-opacity="0.4"/>',
            text(_LEFT - 8, level + 7, _POWERS[power], size=_SMALL, at="end"),
        ]
    shapes.append(f'<path d="M{_LEFT} {bottom}H{_RIGHT}" stroke="{MUTED}"/>')
    for run, colour in _COLOURS.items():
        rates = _rates([span for span in spans if span.run == run], end)
        bars = "".join(
            f"M{_x(at, end)} {bottom}v-{_height(rate)}H{_x(at + _BAR_SECONDS, end)}V{bottom}z"
            for at, rate in rates.items()
            if rate > 10**_LEAST
        )
        shapes += [f'<path d="{bars}" fill="{colour}"/>'] if bars else []
    return shapes


_POWERS = {5: "100 k", 6: "1 M", 7: "10 M"}


def _rates(spans: Sequence[Span], end: float) -> dict[int, float]:
    """Return the records per second of each bar; those of a span are spread evenly over its seconds."""
    rates = dict.fromkeys(range(0, math.ceil(end), _BAR_SECONDS), 0.0)
    for span in spans:
        for at in rates:
            shared = min(span.end, at + _BAR_SECONDS) - max(span.begin, at)
            rates[at] += max(shared, 0) * span.records / (span.end - span.begin) / _BAR_SECONDS
    return rates


def _x(second: float, end: float) -> int:
    return round(_LEFT + (_RIGHT - _LEFT) * min(second / end, 1))


def _height(rate: float) -> int:
    return round(_PLOT * (math.log10(rate) - _LEAST) / (_GREATEST - _LEAST))

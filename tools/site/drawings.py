"""The drawings of the concepts. Numbers in them come from programs that are run here.

python -m tools.site.drawings
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import Schedule, collect, run_in_process
from tools.layers import MAY_IMPORT, THIRD_PARTY
from tools.site.svg import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    arrow,
    box,
    dot,
    drawing,
    line,
    text,
)
from tools.site.switch_drawing import switch

TOP = Path(__file__).parents[2]
IMAGES, PACKAGE = TOP / "docs" / "images", TOP / "src" / "penstock"

ORDERS = [("ann", 5), ("bob", 3), ("ann", 2)]
READINGS = (1, 4, 3, 12, 8)
LATENESS, WINDOW = 5, 10


def history_and_live() -> str:
    """Return one bar that is a batch first, then many micro-batches."""
    batches = [box(410 + 44 * number, 70, 36, 60, GREEN) for number in range(6)]
    return drawing(
        *(720, 210, "History is read as one batch, then micro-batches follow with the same state"),
        text(200, 50, "history: one Spark batch job"),
        text(540, 50, "live: a loop of micro-batches"),
        box(20, 70, 370, 60, BLUE),
        text(205, 105, "each key once, in order of time", BLUE),
        *batches,
        line(400, 30, 400, 150, ORANGE, dashed=True),
        text(400, 22, "switch", ORANGE),
        arrow(20, 150, 700, 150),
        text(696, 168, "arrival", at="end", size=12),
        text(400, 195, "state, timers and watermark are handed over", ORANGE),
    )


def the_law() -> str:
    """Return four ways to run one program, with what each of them gave."""
    ways: dict[str, Schedule | None] = {
        "all at once": None,
        "one record per micro-batch": Schedule(batch_sizes=(1,)),
        "restarted after each micro-batch": Schedule(batch_sizes=(1,), restart_every=1),
        "two records per micro-batch": Schedule(batch_sizes=(2,)),
    }
    shapes = []
    for row, (way, schedule) in enumerate(ways.items()):
        y = 40 + 52 * row
        answer = ", ".join(f"{name} {total}" for name, total in sorted(_totals(schedule).items()))
        shapes += [
            box(230, y, 260, 40, BLUE),
            text(360, y + 25, way, BLUE, size=13),
            arrow(170, 138, 226, y + 20),
            arrow(490, y + 20, 546, y + 20),
            text(560, y + 25, answer, GREEN, at="start"),
        ]
    return drawing(
        *(720, 260, "Four ways to run a program give the same totals"),
        text(90, 100, "orders"),
        *(text(90, 124 + 20 * at, f"{name} {n}") for at, (name, n) in enumerate(ORDERS)),
        *shapes,
    )


def _totals(schedule: Schedule | None) -> dict[str, int]:
    env = StreamExecutionEnvironment.get_execution_environment()
    totals = env.from_collection(ORDERS).key_by(lambda order: order[0]).sum(1)
    totals.upsert_to(DiscardingSink(), key=lambda total: total[0]).name("totals")
    results = run_in_process(env) if schedule is None else run_in_process(env, schedule)
    return dict(results.of("totals"))


def state() -> str:
    """Return keys that go to subtasks, their state, and the log of what changed."""
    shapes = []
    for row, (names, values) in enumerate(
        [("ann, joe", ("ann  2 orders", "joe  1 order")), ("bob", ("bob  4 orders", ""))]
    ):
        y = 30 + 105 * row
        shapes += [
            arrow(120, 110, 186, y + 40),
            text(150, y + 34 + 20 * row, names, MUTED, size=12),
            box(190, y, 220, 80, BLUE),
            text(300, y + 20, f"subtask {row}", BLUE, size=12),
            text(300, y + 44, values[0]),
            text(300, y + 64, values[1]),
            arrow(410, y + 40, 486, 110),
        ]
    return drawing(
        *(720, 240, "A key belongs to a subtask; what changed goes to the checkpoint directory"),
        text(70, 105, "records,"),
        text(70, 123, "by key"),
        *shapes,
        text(595, 172, "only what has changed", MUTED, size=12),
        box(490, 70, 210, 80, GREEN),
        text(595, 104, "checkpoint directory", GREEN),
        text(595, 126, "a record per epoch", GREEN, size=12),
    )


def time() -> str:
    """Return records by arrival, the watermark behind them, and the count of each window."""
    shapes = []
    newest = 0
    for at, second in enumerate(READINGS):
        x, newest = 130 + 100 * at, max(newest, second)
        shapes += [
            dot(x, 190 - 10 * second),
            text(x + 12, 194 - 10 * second, f"{second} s", at="start", size=12),
        ]
        mark = 190 - 10 * max(newest - LATENESS, 0)
        shapes += [line(x - 40, mark, x + 60, mark, ORANGE, dashed=True)]
    counts = _window_counts()
    for row, count in enumerate(counts):
        y = 190 - 10 * WINDOW * (row + 1)
        shapes += [
            box(
                80,
                max(y, 4),
                540,
                min(10 * WINDOW, 86 + 100 * (row == 0)),
                (GREEN, MUTED)[row],
                filled=row == 0,
            ),
            text(630, y + 55, f"{count} record{'s' * (count != 1)}", GREEN, at="start", size=13),
        ]
    return drawing(
        *(720, 240, "Five records, the watermark behind them, and how many each window has"),
        text(70, 194, "0 s", at="end", size=12),
        text(70, 94, "10 s", at="end", size=12),
        *shapes,
        arrow(80, 205, 620, 205),
        text(350, 228, "in order of arrival", size=12),
        text(
            90,
            16,
            "dashed orange: the watermark, 5 s behind the greatest time seen",
            ORANGE,
            at="start",
            size=12,
        ),
    )


def _window_counts() -> list[int]:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(LATENESS))
    counts = (
        env.from_collection([("a", second) for second in READINGS])
        .assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda reading, _: reading[1] * 1_000)
        )
        .map(lambda reading: (reading[0], reading[1] // WINDOW, 1))
        .key_by(lambda reading: reading[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(WINDOW)))
        .reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
    )
    return [count for _, _, count in sorted(collect(counts))]


def layers() -> str:
    """Return the packages, each above those that it may import."""
    rows: dict[int, list[str]] = {}
    for package in MAY_IMPORT:
        if (PACKAGE / package).is_dir():
            rows.setdefault(_height(package), []).append(package)
    shapes = []
    for row, height in enumerate(sorted(rows, reverse=True)):
        names, y = sorted(rows[height]), 10 + 44 * row
        width = 700 // len(names) - 10
        for at, name in enumerate(names):
            x = 15 + at * (width + 10)
            colour = ORANGE if "pyspark" in _guarded(name) else BLUE
            shapes += [box(x, y, width, 34, colour), text(x + width // 2, y + 22, name, colour)]
    below = 10 + 44 * len(rows)
    shapes += [text(360, below + 14, "a package imports only what is below it", MUTED, size=12)]
    return drawing(720, below + 28, "The packages in layers; only spark imports PySpark", *shapes)


def _height(package: str) -> int:
    below = {name.partition(".")[0] for name in MAY_IMPORT.get(package, ())}
    return 1 + max(map(_height, below), default=-1)


def _guarded(package: str) -> set[str]:
    return {library for library, users in THIRD_PARTY.items() if package in users}


def exactly_once() -> str:
    """Return the steps of an epoch, and where a crash goes on."""
    steps = [
        ("read and call", BLUE),
        ("stage results", BLUE),
        ("write the record", ORANGE),
        ("make visible", GREEN),
    ]
    shapes = []
    for at, (words, colour) in enumerate(steps):
        x = 20 + 175 * at
        shapes += [box(x, 50, 150, 56, colour), text(x + 75, 83, words, colour)]
        shapes += [arrow(x + 150, 78, x + 173, 78)] if at < len(steps) - 1 else []
    return drawing(
        *(720, 190, "An epoch is read, staged, recorded and made visible"),
        text(360, 26, "one epoch"),
        *shapes,
        line(445, 110, 445, 154, INK, dashed=True),
        text(445, 172, "the commit", INK, size=12),
        text(195, 134, "a crash here: the epoch is repeated", size=13),
        text(195, 152, "from the same positions and state", MUTED, size=12),
        text(590, 134, "a crash here: the last step", size=13),
        text(590, 152, "is repeated, and changes nothing", MUTED, size=12),
    )


DRAWINGS: dict[str, Callable[[], str]] = {
    "concept-history-and-live": history_and_live,
    "concept-the-law": the_law,
    "concept-state": state,
    "concept-time": time,
    "concept-exactly-once": exactly_once,
    "architecture-layers": layers,
    "readme-switch": switch,
}
"""Name of an image to its drawing: of a page of `docs/concepts`, of `docs/architecture.md`, or of the README."""


def main() -> None:
    """Write the files."""
    for name, draw in DRAWINGS.items():
        (IMAGES / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()

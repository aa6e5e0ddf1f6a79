"""Sessions of columns: cut as records one after the other are, among them late ones."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.runtime.fold.sessions import pieces_of

GAP = 3
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.booleans()), min_size=1)
Piece = tuple[int, int, int, list[int]]


def one_by_one(rows: list[tuple[int, int, bool]]) -> list[Piece]:
    """Return (key, first, last, numbers of rows), in order of arrival for each key."""
    done: list[Piece] = []
    for key in {key for key, _, _ in rows}:
        run: list[Piece] = []
        for number, (own, time, is_late) in enumerate(rows):
            if own != key:
                continue
            piece = (key, time, time, [number])
            if is_late:
                done += [*run, piece]
                run = []
                continue
            touched = [each for each in run if each[1] - GAP <= time <= each[2] + GAP]
            run = [each for each in run if each not in touched]
            firsts, lasts = zip(*((each[1], each[2]) for each in [*touched, piece]), strict=True)
            numbers = sorted(at for each in [*touched, piece] for at in each[3])
            run.append((key, min(firsts), max(lasts), numbers))
        done += run
    return done


@given(ROWS)
@example([(0, 0, False), (0, 3, True), (0, 6, False)])
def test_pieces_are_those_of_records_one_by_one(rows: list[tuple[int, int, bool]]) -> None:
    keys, times, late = (np.array(each) for each in zip(*rows, strict=True))
    found: dict[tuple[int, ...], list[int]] = {}
    for number, piece in enumerate(
        zip(*map(np.ndarray.tolist, pieces_of(keys, times, late, GAP)), strict=True)
    ):
        found.setdefault((rows[number][0], *piece), []).append(number)
    made = [(key, first, last, numbers) for (key, _, first, last), numbers in sorted(found.items())]
    assert sorted(made) == sorted(one_by_one(rows))
    runs = {run: min(numbers) for (_, run, _, _), numbers in sorted(found.items())}
    for key in range(3):  # runs of a key are in order of arrival
        starts = [runs[run] for run in runs if any(each[:2] == (key, run) for each in found)]
        assert starts == sorted(starts)


def test_times_far_apart_are_no_piece() -> None:
    limits = np.array([-(1 << 63) + 1, (1 << 63) - 1])
    _, firsts, lasts = pieces_of(np.zeros(2, dtype=np.int64), limits, np.zeros(2, dtype=bool), 1)
    assert (firsts.tolist(), lasts.tolist()) == (limits.tolist(), limits.tolist())

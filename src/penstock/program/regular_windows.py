"""Windows at regular distances: which windows a time is in, and the panes that they share.

    sliding (tumbling, if they touch)        growing

    |------------|                           |---|
        |------------|                       |-------|
            |------------|                   |-----------|
                                                         |---|
      |   |   |   |   |  panes               |   |   |   |   |  panes

Windows end `slide` apart. Sliding ones have one length; growing ones begin `size` apart, and each is `slide` longer than
the one before. Panes are stretches of time that belong to the same windows from one end to the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd


@dataclass(frozen=True, slots=True)
class RegularWindows:
    """Windows whose contents may be stored per pane.

    Attributes:
        size: Length of a window in milliseconds, of growing ones that of the longest.
        slide: Distance of the ends of two windows.
        offset: Start of some window.
        grows: Whether windows are growing ones; then `size` is a multiple of `slide`.
        width: Length of a pane.

    Examples:
        >>> RegularWindows(20, 10, 0).of(13)
        [(10, 30), (0, 20)]
        >>> RegularWindows(20, 5, 0, grows=True).of(13)
        [(0, 15), (0, 20)]
    """

    size: int
    slide: int
    offset: int
    grows: bool = False
    width: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", gcd(self.size, self.slide))

    @property
    def is_tumbling(self) -> bool:
        """True if windows touch, and do not overlap: a window is a pane."""
        return self.size == self.slide

    def of(self, time: int) -> list[tuple[int, int]]:
        """Return start and end of the windows that contain a time: of sliding ones the latest first."""
        size, slide = self.size, self.slide
        if not self.grows:
            last = time - (time - self.offset) % slide
            return [(start, start + size) for start in range(last, time - size, -slide)]
        start = time - (time - self.offset) % size
        return [(start, end) for end in range(self.end_behind(time + 1), start + size + 1, slide)]

    def ends_of(self, pane: int) -> range:
        """Return the ends of the windows that contain a pane, the earliest first; none between windows with gaps."""
        return range(self.end_behind(pane + self.width), self.last_end(pane) + 1, self.slide)

    def end_behind(self, time: int) -> int:
        """Return the first end of a window that is not before a time."""
        return time + (self.offset + self.size - time) % self.slide

    def last_end(self, time: int) -> int:
        """Return the end of the last window that begins at a time or before; the window may be over then."""
        distance = self.size if self.grows else self.slide
        return time - (time - self.offset) % distance + self.size

    def start_of(self, end: int) -> int:
        """Return the start of the window that ends at a time."""
        return end - 1 - (end - 1 - self.offset) % self.size if self.grows else end - self.size

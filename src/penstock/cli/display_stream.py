"""Output streams that share a terminal with a display."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from rich.console import Console
from rich.segment import Segment, Segments


class DisplayAwareStream:
    """Replaces `sys.stdout` or `sys.stderr` while a display may be on the terminal.

    While the display is drawn, the stream writes whole lines through the display's console, which
    clears the display, writes the lines unchanged and draws the display again. An incomplete line
    is buffered. At other times text is written to the original stream at once.

    Attributes:
        rich_proxied_file: The original stream. A rich console reads this attribute, and so does not
            write to itself.
    """

    def __init__(self, stream: TextIO, console: Console, is_drawn: Callable[[], bool]) -> None:
        self.rich_proxied_file = stream
        self._console = console
        self._is_drawn = is_drawn
        self._started_line = ""
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)

    def write(self, text: str) -> int:
        """Write `text` and return its length, as a text stream does."""
        with self._lock:
            if self._is_drawn():
                lines, end, self._started_line = (self._started_line + text).rpartition("\n")
                if end:
                    self._console.print(Segments([Segment(lines + end)]), crop=False)
            else:
                self._release()
                self.rich_proxied_file.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of `lines`, which contain their line breaks."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Write the buffered text unless the display is drawn."""
        with self._lock:
            if not self._is_drawn():
                self._release()
            self.rich_proxied_file.flush()

    def _release(self) -> None:
        self.rich_proxied_file.write(self._started_line)
        self._started_line = ""

"""The stored form of windows. It is short, and decodable as a component of a key.

| window       | stored       |
|--------------|--------------|
| TimeWindow   | (start, end) |
| CountWindow  | number       |
| GlobalWindow | None         |
| any other    | itself       |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.program.windows import CountWindow, GlobalWindow, TimeWindow, Window

_FORMS: dict[type, Callable[[Any], Any]] = {
    TimeWindow: lambda window: (window.start, window.end),
    CountWindow: lambda window: window.id,
    GlobalWindow: lambda _: None,
}

_WINDOWS: dict[type, Callable[[Any], Window]] = {
    tuple: lambda form: TimeWindow(*form),
    int: CountWindow,
    type(None): lambda _: GlobalWindow.get(),
}


def stored_window(window: Window) -> Any:
    """Return the stored form of a window."""
    make = _FORMS.get(type(window))
    return window if make is None else make(window)


def window_of_stored(form: Any) -> Any:
    """Return the window with this stored form."""
    make = _WINDOWS.get(type(form))
    return form if make is None else make(form)

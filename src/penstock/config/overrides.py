"""Settings that override those of the program, in every `Configuration` of this process.

`penstock run job.py -D key=value` does not change the program. The program makes its own
`Configuration`, so the values of the command line are process-wide.
"""

from __future__ import annotations

from collections.abc import Mapping

_layers: dict[str, dict[str, str]] = {}


def set_process_overrides(layer_name: str, values: Mapping[str, str]) -> None:
    """Let `values` override those of every `Configuration`, existing ones too."""
    _layers.pop(layer_name, None)
    if values:
        _layers[layer_name] = dict(values)


def process_overrides() -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Return the layers by name; a later one overrides earlier ones."""
    return tuple(_layers.items())

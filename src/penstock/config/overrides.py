"""Settings that win over whatever a program sets, for everything in this process.

`penstock run job.py -D key=value` starts the program it is given unchanged; this is how the
values reach the `Configuration` that the program makes.
"""

from __future__ import annotations

from collections.abc import Mapping

_layers: dict[str, dict[str, str]] = {}


def set_process_overrides(layer_name: str, values: Mapping[str, str]) -> None:
    """Make `values` win in every `Configuration`, also in those that already exist.

    Args:
        layer_name: Where the values come from, as error messages shall say it: `cli`. An
            earlier call with the same name is replaced; a new name wins over older ones.
        values: Key to text; empty removes the layer.
    """
    _layers.pop(layer_name, None)
    if values:
        _layers[layer_name] = dict(values)


def process_overrides() -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Return the layers with their names; later ones win."""
    return tuple(_layers.items())

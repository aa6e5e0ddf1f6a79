"""Global job parameters: the program's own settings, which its functions read."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.configuration import Configuration

JOB_PARAMETERS = "pipeline.global-job-parameters"
"""The key of Flink's map `a:1,b:2`. A single parameter has the key `<this key>.<name>`."""


def job_parameters(configuration: Configuration) -> dict[str, str]:
    """Return the parameters of the map and of single keys; a single key overrides the map.

    >>> job_parameters(Configuration().set_string("pipeline.global-job-parameters.day", "monday"))
    {'day': 'monday'}
    """
    prefix = f"{JOB_PARAMETERS}."
    pairs = configuration.get_string(JOB_PARAMETERS, "").split(",")
    found = dict(_pair(pair) for pair in pairs if pair.strip())
    return found | {
        key.removeprefix(prefix): value
        for key, value in configuration.to_dict().items()
        if key.startswith(prefix)
    }


def set_job_parameters(configuration: Configuration, parameters: Mapping[str, object]) -> None:
    """Replace all parameters; other values than strings are converted to text.

    Process overrides stay.
    """
    for key in tuple(configuration.key_set()):
        if key == JOB_PARAMETERS or key.startswith(f"{JOB_PARAMETERS}."):
            configuration.remove_config(key)
    for name, value in parameters.items():
        configuration.set_string(f"{JOB_PARAMETERS}.{name}", str(value))


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name.strip(), value.strip()

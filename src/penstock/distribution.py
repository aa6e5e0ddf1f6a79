"""The name under which this package is installed.

The import is `penstock`; the distribution is not, because the index has another package of that name.
"""

from __future__ import annotations

from penstock.version import __version__

ON_INDEX = False
"""True if an index has a release. Until then every command installs the wheel that `make dist` builds."""

DISTRIBUTION = "penstock-spark"
"""Argument of `pip install`."""


def install_command(extra: str = "") -> str:
    """Return the command that installs this package, in a checkout as long as there is no release.

    Examples:
        >>> install_command("kafka")
        "pip install 'dist/penstock_spark-0.1.0-py3-none-any.whl[kafka]'"
    """
    wheel = f"dist/{DISTRIBUTION.replace('-', '_')}-{__version__}-py3-none-any.whl"
    named = DISTRIBUTION if ON_INDEX else wheel
    return f"pip install '{named}{f'[{extra}]' if extra else ''}'"

"""Options of Python workers: Flink's `python.*` keys that have an effect."""

from __future__ import annotations

from typing import Any

from penstock.config.option import NOT_BLANK, ConfigOption
from penstock.config.parse import STRING

PYTHON_FILES: ConfigOption[str | None] = ConfigOption(
    key="python.files",
    parse=STRING,
    default=None,
    description=(
        "Python files, packages, zip files, wheels and directories that functions import, "
        "separated by commas. The workers find them on their module search path, zip files and "
        "wheels unpacked."
    ),
    check=NOT_BLANK,
)

PYTHON_REQUIREMENTS: ConfigOption[str | None] = ConfigOption(
    key="python.requirements",
    parse=STRING,
    default=None,
    description=(
        "A `requirements.txt`, which pip installs once per content into a directory that is "
        "shipped to the workers. With `#` and a directory of packages behind it, only these "
        "packages are used, without a network."
    ),
    check=NOT_BLANK,
)

PYTHON_ARCHIVES: ConfigOption[str | None] = ConfigOption(
    key="python.archives",
    parse=STRING,
    default=None,
    description=(
        "Zip and tar archives that are unpacked in the current directory of the workers, "
        "separated by commas: `data.zip#data` in the directory `data`, `data.zip` in one of the "
        "archive's own name. The workers of a job with archives have a current directory of "
        "their own."
    ),
    check=NOT_BLANK,
)

PYTHON_EXECUTABLE: ConfigOption[str | None] = ConfigOption(
    key="python.executable",
    parse=STRING,
    default=None,
    description=(
        "The interpreter of the workers: a path, a command, or a path in an unpacked archive. It "
        "needs Penstock and its dependencies, and Python of the same version. When unset it is "
        "that of the program."
    ),
    check=NOT_BLANK,
)

PYTHON_OPTIONS: tuple[ConfigOption[Any], ...] = (
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
)
"""The options of this module, in the order of the reference page."""

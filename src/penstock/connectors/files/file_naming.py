"""Names of the files of a sink: prefix, suffix and directory (bucket), and the rolling policies of Flink's file sink.

A file ends with its micro-batch (or batch run) at the latest, so that each is committed exactly once. A rolling
policy may end it earlier, by its size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import ClassVar
from urllib.parse import quote, unquote
from zoneinfo import ZoneInfo

from penstock.errors import ArgumentError

DEFAULT_PART_BYTES = 128 * 1024 * 1024
"""Flink's default size of a part file."""


@dataclass(frozen=True, slots=True)
class RollingPolicy:
    """Condition for the end of a file: every checkpoint, and by the default policy a size before that.

    Example:
        >>> RollingPolicy.on_checkpoint_rolling_policy()
        OnCheckpointRollingPolicy()
    """

    @staticmethod
    def default_rolling_policy(
        part_size: int = DEFAULT_PART_BYTES,
        rollover_interval: int = 60_000,
        inactivity_interval: int = 60_000,
    ) -> DefaultRollingPolicy:
        """Return Flink's default policy.

        Args:
            part_size: Bytes.
            rollover_interval: Milliseconds; without effect, as no file outlives its micro-batch.
            inactivity_interval: The same.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the policy by which files end with every checkpoint."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """A file ends by its size.

    Attributes:
        part_size: Bytes.
        rollover_interval: Milliseconds; without effect.
        inactivity_interval: Milliseconds; without effect.

    Example:
        >>> RollingPolicy.default_rolling_policy(part_size=1_000_000).part_size
        1000000
    """

    part_size: int
    rollover_interval: int
    inactivity_interval: int


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """A file ends with every checkpoint.

    Example:
        >>> RollingPolicy.on_checkpoint_rolling_policy()
        OnCheckpointRollingPolicy()
    """


_LETTERS = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
"""Fields of Java's date patterns to those of `strftime`."""

_TOKEN = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']+")
_BUCKET_MARK = "@"


@dataclass(frozen=True, slots=True)
class BucketAssigner:
    """Chooses the directory of a file, below that of the sink.

    Attributes:
        columns: Columns whose values are in the path, and not in the files.
        pattern: For `strftime`, of the time at which a task begins its file; empty is none.
        timezone_id: Time zone; None is that of the worker.

    Example:
        >>> BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd", "Europe/Berlin").pattern
        '%Y-%m-%d'
    """

    pattern: str = ""
    timezone_id: str | None = None
    columns: tuple[str, ...] = ()

    @staticmethod
    def by_columns(*names: str) -> BucketAssigner:
        """Return an assigner that writes files to a directory per value of columns: `country=DE/day=2026-01-31`.

        PyFlink does not have it. The columns are not in the files, as with Hive and Spark, which read them from
        the path. A null has the directory `__HIVE_DEFAULT_PARTITION__`.

        Args:
            names: Fields of the declared row type: strings, integers, booleans or dates.

        Raises:
            ArgumentError: There is none, or one is no name.

        Example:
            >>> BucketAssigner.by_columns("country", "day").columns
            ('country', 'day')
        """
        if not names or any(not isinstance(name, str) or not name for name in names):
            raise ArgumentError.here(
                f"by_columns got {', '.join(map(repr, names)) or 'no names'}",
                hint="Pass the names of fields, e.g. by_columns('country').",
            )
        if len(set(names)) < len(names):
            raise ArgumentError.here(
                f"by_columns got a name twice: {', '.join(names)}", hint="Name each field once."
            )
        return BucketAssigner(columns=names)

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return an assigner that writes all files to the sink's own directory.

        Example:
            >>> BucketAssigner.base_path_bucket_assigner().bucket()
            ''
        """
        return BucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Return an assigner that writes files to a directory per hour, or per another time.

        Args:
            format_str: A Java date pattern of the fields yyyy, yy, MM, dd, HH, mm and ss.
            timezone_id: E.g. `Europe/Berlin`.

        Raises:
            ArgumentError: A field is not one of these, or the time zone is unknown.

        Example:
            >>> BucketAssigner.date_time_bucket_assigner("yyyy/MM").pattern
            '%Y/%m'
        """
        try:
            _zone(timezone_id)
        except (KeyError, ValueError, TypeError, OSError) as cause:
            raise ArgumentError.here(
                f"{timezone_id!r} is not a time zone",
                hint="Pass a name such as 'Europe/Berlin', or None.",
            ) from cause
        return BucketAssigner(_strftime_pattern(format_str), timezone_id)

    def bucket(self) -> str:
        """Return the bucket of a file begun now, empty if there are no buckets."""
        if not self.pattern:
            return ""
        return datetime.now(_zone(self.timezone_id)).strftime(self.pattern)


@dataclass(frozen=True, slots=True)
class FileNaming:
    """Prefix, suffix and bucket of the files of a sink.

    Attributes:
        suffix: End of a name; None is the extension of the format.
    """

    prefix: str = "part"
    suffix: str | None = None
    buckets: BucketAssigner = BucketAssigner()

    def staged_name(self, unique: str, extension: str, bucket: str | None = None) -> str:
        """Return the name of a staged file, which contains its bucket: that of the time if none is given."""
        bucket = self.buckets.bucket() if bucket is None else bucket
        noted = quote(bucket, safe="") + _BUCKET_MARK if bucket else ""
        return f"{noted}{unique}.{extension}"

    def visible_name(self, middle: str, staged_name: str) -> str:
        """Return the final name of a staged file, with its bucket in front."""
        bucket, _, own = staged_name.rpartition(_BUCKET_MARK)
        suffix = PurePosixPath(own).suffix if self.suffix is None else self.suffix
        name = f"{self.prefix}-{middle}{suffix}"
        return f"{unquote(bucket)}/{name}" if bucket else name


@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """Prefix and suffix of file names.

    Attributes:
        part_prefix: Start of a name.
        part_suffix: End of a name.

    Example:
        >>> OutputFileConfig.builder().with_part_prefix("orders").build()
        OutputFileConfig(part_prefix='orders', part_suffix='')
        >>> builder = OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".txt")
        >>> config = builder.build()
        >>> config.get_part_prefix(), config.get_part_suffix()
        ('orders', '.txt')
    """

    OutputFileConfigBuilder: ClassVar[type[FileConfigBuilder]]
    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> FileConfigBuilder:
        """Return a builder with Flink's defaults: the prefix `part` and no suffix."""
        return FileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return the prefix."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return the suffix."""
        return self.part_suffix


class FileConfigBuilder:
    """Builds an `OutputFileConfig`.

    Example:
        >>> OutputFileConfig.builder().with_part_suffix(".txt").build().get_part_suffix()
        '.txt'
    """

    def __init__(self) -> None:
        self._prefix = "part"
        self._suffix = ""

    def with_part_prefix(self, prefix: str) -> FileConfigBuilder:
        """Set the start of file names to `prefix`.

        Raises:
            ArgumentError: It cannot be in a file name, or readers would skip such files.
        """
        self._prefix = _checked_piece(prefix, "prefix")
        if prefix.startswith(("_", ".")) or not prefix:
            raise ArgumentError.here(
                f"files that begin with {prefix!r} are skipped by most readers",
                hint="Begin the prefix with a letter.",
            )
        return self

    def with_part_suffix(self, suffix: str) -> FileConfigBuilder:
        """Set the end of file names to `suffix`.

        Raises:
            ArgumentError: It cannot be in a file name.
        """
        self._suffix = _checked_piece(suffix, "suffix")
        return self

    def build(self) -> OutputFileConfig:
        """Return the configuration."""
        return OutputFileConfig(self._prefix, self._suffix)


OutputFileConfig.OutputFileConfigBuilder = FileConfigBuilder


def _checked_piece(piece: str, what: str) -> str:
    if isinstance(piece, str) and not {"/", "\0"} & set(piece):
        return piece
    raise ArgumentError.here(
        f"the {what} of file names is {piece!r}", hint="Pass a string without slashes."
    )


def _zone(timezone_id: str | None) -> ZoneInfo | None:
    return None if timezone_id is None else ZoneInfo(timezone_id)


def _strftime_pattern(java: str) -> str:
    parts = []
    for token in _TOKEN.finditer(java):
        text = token[0]
        if text.startswith("'"):
            parts.append((token[1] or "'").replace("%", "%%"))
        elif token[2] is None:
            parts.append(text.replace("%", "%%"))
        elif text in _LETTERS:
            parts.append(_LETTERS[text])
        else:
            raise ArgumentError.here(
                f"the date pattern {java!r} has the field {text!r}",
                hint=f"Use only {', '.join(_LETTERS)}; put other letters in single quotes.",
            )
    return "".join(parts)

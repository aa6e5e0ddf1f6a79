"""The backlog status of the inputs of a level.

For channels of level 0 the receiver derives it from the following facts, so it is neither sent nor
stored:

    a part of the source before its last one, or results of the        in backlog until the last part
    bounded region, are read in this run or a later one                or the end of the last such run
    the watermark lags more than the threshold                         until it once does not
    otherwise                                                          not in backlog

At other levels every subtask sends its status (`BacklogStatus`): before its records in each
micro-batch, and between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.program.channel import ChannelSpec
from penstock.program.level import LevelProgram
from penstock.program.record_attributes import combined_backlog
from penstock.program.run_settings import RunKind
from penstock.runtime.time.level_watermarks import LevelWatermarks
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP, BacklogStatus

InputBacklog = tuple[int, int, bool]
"""(operator, input, whether its records are backlog)."""


class LevelBacklog:
    """Combines the backlog statuses per input of the operators of a level."""

    def __init__(self, program: LevelProgram) -> None:
        self._settings = program.settings
        self._inputs: dict[tuple[int, int], list[ChannelSpec]] = {}
        for spec in program.inputs:
            key = spec.target_operator, spec.target_input
            self._inputs.setdefault(key, []).append(spec)
        self._statuses: dict[int, dict[int, bool | None]] = {
            spec.id: {group: self._at_first(group, spec) for group in self._groups(spec)}
            for spec in program.inputs
        }

    def of_inputs(self) -> Iterator[InputBacklog]:
        """Yield the status of each input, without inputs whose status is still unknown."""
        for (operator, number), channels in self._inputs.items():
            statuses = (value for spec in channels for value in self._statuses[spec.id].values())
            backlog = combined_backlog(statuses)
            if backlog is not None:
                yield operator, number, backlog

    def accept(self, statuses: Iterable[tuple[int, BacklogStatus]]) -> None:
        """Receive statuses of subtasks, in order."""
        for channel, status in statuses:
            self._statuses[channel][status.group] = status.backlog

    def remember(self) -> dict[int, dict[int, bool | None]]:
        """Return the value that `restore` needs in another worker."""
        return {channel: dict(groups) for channel, groups in self._statuses.items()}

    def restore(self, memory: dict[int, dict[int, bool | None]]) -> None:
        """Restore the result of `remember`."""
        for channel, groups in memory.items():
            self._statuses[channel].update(groups)

    def notice(self, watermarks: LevelWatermarks, now_ms: int) -> None:
        """Update the status of sources from their watermarks at the end of a micro-batch (live run)."""
        threshold = self._settings.backlog_lag_ms
        for channel, groups in self._statuses.items():
            if channel not in watermarks.from_sources:
                continue
            behind = watermarks.behind_history(channel)
            for source, (mark, idle) in watermarks.of_groups(channel).items():
                in_parts = source in self._settings.backlog_sources and source not in behind
                if mark == MAX_WATERMARK or groups[source] is False:
                    groups[source] = False
                elif not in_parts and threshold is not None:
                    known = mark != MIN_TIMESTAMP
                    lags = known and now_ms - mark > threshold and not idle
                    groups[source] = lags if known or idle else groups[source]

    def begin_part(self, channel: int, source: int, watermarks: LevelWatermarks) -> None:
        """Note that a source goes on with its next part; behind its history it may lag, or is live."""
        if source in watermarks.behind_history(channel):
            self._statuses[channel][source] = self._without_parts(source)

    def end(self) -> None:
        """End the backlog of sources of which no later run reads history, at the end of a run."""
        for channels in self._inputs.values():
            for spec in channels:
                if spec.source_level == 0:
                    ended = set(spec.sources) - self._settings.backlog_behind
                    self._statuses[spec.id] |= dict.fromkeys(ended, False)

    def _groups(self, spec: ChannelSpec) -> Iterable[int]:
        if spec.source_level == 0:
            return spec.sources
        subtasks = self._settings.parallelism
        return range(min(spec.senders or subtasks, subtasks))

    def _at_first(self, group: int, spec: ChannelSpec) -> bool | None:
        if spec.source_level > 0:
            return None
        return True if group in self._settings.backlog_sources else self._without_parts(group)

    def _without_parts(self, source: int) -> bool | None:
        """Return the first status of a source that reads its last part; None depends on its watermark."""
        lag_counts = self._settings.kind is RunKind.LIVE and self._settings.backlog_lag_ms
        return None if lag_counts and source in self._settings.timed_sources else False

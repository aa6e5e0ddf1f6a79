"""The rows of the positions stream, which the tasks of level 0 read.

The schema is in a separate module, because Spark starts several processes for a Python data source,
which should not import the modules of tasks.
"""

from __future__ import annotations

POSITIONS_DDL = "event STRING, source INT, split INT, first LONG, last LONG, finished BOOLEAN"
"""Rows of split sources and of the control log. `event` is one of:

range           read positions [first, last) of a split; `finished` if the split ends there
end             the source has ended
start           the run begins: call every subtask of every level
handover        the run ends: every subtask writes its state
tick            time has passed: call every subtask
next            the source goes on with its next part (loop of epochs only)
savepoint:<id>  a savepoint is requested: every subtask writes its state
"""

RANGES_DDL = f"{POSITIONS_DDL}, name STRING"
"""The same rows with the id of the split, if the source names its splits.

Rows of a loop also have `part`, the part of the source, if the run reads several.
"""

"""Rows of the positions stream, as the tasks of level 0 read them.

Apart from who writes and who reads them, because Spark starts several processes for a Python data
source, one after the other, and they should not have to import what runs in tasks.
"""

from __future__ import annotations

POSITIONS_DDL = "event STRING, source INT, split INT, first LONG, last LONG, finished BOOLEAN"
"""Rows of split sources and of the control log. `event` is one of:

range           read positions [first, last) of a split; `finished` if the split ends there
end             the source has ended
start           the run begins: reach every subtask of every level
handover        the run ends: every subtask writes its state
tick            time has passed: call every subtask
savepoint:<id>  somebody asked for a savepoint: every subtask writes its state
"""

"""Reading the state of a job from its checkpoint or a savepoint, and comparing what two jobs have written.

>>> from penstock.inspection import compare_outputs, read_state, read_state_names
>>> read_state_names("/checkpoints/visits").show()                  # doctest: +SKIP
>>> read_state("/checkpoints/visits", "totals", "reduce").show()    # doctest: +SKIP
>>> compare_outputs("/checkpoints/visits", "/checkpoints/visits-2")    # doctest: +SKIP
"""

from penstock.spark.inspect.output_diff import compare_outputs
from penstock.spark.inspect.row_differences import OutputComparison, OutputDifference, RowChange
from penstock.spark.inspect.state_reader import read_state, read_state_names
from penstock.spark.upgrade.position_diff import PositionDifference, compare_positions

__all__ = [
    "OutputComparison",
    "OutputDifference",
    "PositionDifference",
    "RowChange",
    "compare_outputs",
    "compare_positions",
    "read_state",
    "read_state_names",
]

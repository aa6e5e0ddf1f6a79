"""Reading the state of a job from its checkpoint or a savepoint.

>>> from penstock.inspection import read_state, read_state_names
>>> read_state_names("/checkpoints/visits").show()                  # doctest: +SKIP
>>> read_state("/checkpoints/visits", "totals", "reduce").show()    # doctest: +SKIP
"""

from penstock.spark.inspect.state_reader import read_state, read_state_names

__all__ = ["read_state", "read_state_names"]

"""How much of PyFlink's DataStream API there is: the table, its check and its page."""

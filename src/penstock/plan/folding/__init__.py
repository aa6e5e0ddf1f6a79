"""Where records are folded: which places are legal, which are chosen, and what a run makes of it."""

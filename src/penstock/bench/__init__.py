"""`penstock bench`: programs, their peers, and figures that are ratios of one interleaved run."""

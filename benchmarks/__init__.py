"""`python -m benchmarks`: programs and their peers; figures are ratios of one interleaved run."""

"""A changed program that starts from stored state: comparison, policy, and what reads the history again."""

"""The law on a program of a user: ways to run it, comparison of answers, and the smallest input that two ways part on."""

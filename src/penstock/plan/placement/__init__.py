"""Placement: which relations and expressions Catalyst, Arrow or Python computes, and why."""

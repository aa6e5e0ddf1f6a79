"""The phases of planning: pure functions from plan to plan."""

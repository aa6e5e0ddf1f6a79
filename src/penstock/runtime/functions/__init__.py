"""The contexts and state handles of user functions."""

"""What user functions see while they run."""

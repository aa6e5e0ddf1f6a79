"""`penstock sql`: scripts and a shell."""

"""How records leave a task in frames and arrive at another."""

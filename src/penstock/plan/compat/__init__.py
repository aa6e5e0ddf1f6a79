"""What must hold between the plan of a job and the state it finds."""

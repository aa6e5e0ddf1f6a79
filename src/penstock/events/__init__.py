"""What a job says of itself: events, who hears them, where they are written, and what they add up to."""

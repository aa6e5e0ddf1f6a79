"""Programs as users write them, and the demo."""

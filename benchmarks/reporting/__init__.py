"""From what was measured to figures, JSON, tables and plots."""

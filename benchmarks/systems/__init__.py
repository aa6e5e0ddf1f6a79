"""What runs in a process of its own and is measured: ours, and the base classes of peers."""

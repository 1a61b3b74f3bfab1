"""Which model to use for what, and why."""

"""Where a series of runs changed its level, and whether it came back."""

"""One run from its plan to its last row."""

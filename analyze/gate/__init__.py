"""A comparison turned into one answer for a pipeline: passed, failed, or cannot be judged."""

"""A site of all runs: a page a run, an index over all of them, and what they share once."""

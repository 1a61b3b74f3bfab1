"""Every trial of a run before any is made: its order, its hashes, its cost."""

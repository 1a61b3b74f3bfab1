"""What a history says about the level of its series, and what of it still stands."""

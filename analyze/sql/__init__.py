"""A question in SQL from somebody: guarded, asked with a time limit, and printed."""

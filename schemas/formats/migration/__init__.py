"""Reports of the older schemas as reports v2, with an account of every value."""

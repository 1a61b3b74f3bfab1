"""Statistics as pure functions on arrays: no seed, no input, no output."""

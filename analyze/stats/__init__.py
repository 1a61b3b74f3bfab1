"""Statistics: pure functions on counts and arrays, without a seed and without a file."""

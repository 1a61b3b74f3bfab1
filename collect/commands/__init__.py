"""What each command of `collect` does."""

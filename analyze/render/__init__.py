"""Text, numbers, JSON and progress, as people read them."""

"""How many cases and repetitions a drop needs to be seen."""

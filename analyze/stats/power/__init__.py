"""What a plan of so many cases and repetitions would see."""

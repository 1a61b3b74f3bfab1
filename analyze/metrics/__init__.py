"""What SQL cannot say: intervals, repetition, tiers. Pure functions on counts of a mart."""

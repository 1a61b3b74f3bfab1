"""Two sides of runs: which they are, what pairs with what, and what follows from it."""

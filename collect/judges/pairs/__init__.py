"""Two trials of one case held against each other, in both orders."""

"""Which model stands before which, on the cases that both were asked."""

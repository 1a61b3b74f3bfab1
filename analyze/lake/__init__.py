"""What lies in the lake beside the rows of runs."""

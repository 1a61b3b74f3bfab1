"""What the commands print as JSON."""

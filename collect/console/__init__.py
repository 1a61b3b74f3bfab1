"""What people see of a run: progress while it goes on, a summary at its end."""

"""What a run's models did: rates, times, costs, resources."""

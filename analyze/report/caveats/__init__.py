"""What keeps a report's numbers from being taken at face value."""

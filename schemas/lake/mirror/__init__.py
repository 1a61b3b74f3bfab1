"""Logs and traces of runs into the lake: one run as it grows, many whole ones at once."""

"""Agents as runners: programs that ask the model on their own, in a place of their own."""

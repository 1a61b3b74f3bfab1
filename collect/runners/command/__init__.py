"""Agents by configuration: any program that can be started and read."""

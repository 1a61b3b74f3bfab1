"""Readers of agents' logs, one form each: files by name become an `AgentLog`."""

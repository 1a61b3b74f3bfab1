"""The agent OpenClaw, in a container of a pinned image."""

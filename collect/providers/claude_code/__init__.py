"""The Claude Code CLI as a provider: one process a request, timed on the wire."""

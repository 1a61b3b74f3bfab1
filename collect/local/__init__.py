"""The embedded model: its weights, the process that serves it, and the handle on that process."""

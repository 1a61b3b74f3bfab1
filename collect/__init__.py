"""The collector: models x cases x repetitions, recorded as they happen."""

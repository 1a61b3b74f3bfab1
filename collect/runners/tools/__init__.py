"""Tools that a model calls: what each does, and what the model is told of it."""

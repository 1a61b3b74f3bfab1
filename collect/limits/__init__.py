"""How fast and how often a model is asked."""

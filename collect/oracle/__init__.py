"""The oracle of a case: whether its own checks pass its solution, and fail an empty answer."""

"""Renamed cases: which there are, how they are joined, what files that name cases mean by them."""

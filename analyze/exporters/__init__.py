"""One room a format that leaves the lake."""

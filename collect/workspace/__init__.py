"""What a trial leaves: its files as a copy and a list, what has changed, and reading them safely.

Names, links and contents are a model's. The sandbox's helper loads `handles` alone, so each module
is imported where it is wanted.
"""

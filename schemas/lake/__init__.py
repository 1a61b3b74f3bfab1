"""The lake on disk: its tables, files and transactions.

The collector's mirror, `collect restore` and the analysis all write it, through these modules.
"""

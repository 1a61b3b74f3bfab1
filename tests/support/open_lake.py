"""The lake's tables on a connection of their own, without views."""

from analyze.lake.raw_tables import connect, fill

EXPLODE = "create macro explode(members) as unnest(members)"
"""What portable views call a row a member of a list, for DuckDB."""


def open_lake(lake, run_id=None):
    """Return an in-memory connection on which the lake's tables are `raw_results` and so on."""
    connection = connect()
    fill(connection, lake, run_id=run_id)
    return connection

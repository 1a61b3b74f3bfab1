"""The lake's tables on a connection of their own, without views."""

from analyze.lake.raw_tables import connect, fill

PORTABLE = """
create macro explode(members) as unnest(members);
create macro try_element_at(members, place) as list_extract(members, place);
"""
"""What portable views call a row a member of a list, and one of its members, for DuckDB."""


def open_lake(lake, run_id=None):
    """Return an in-memory connection on which the lake's tables are `raw_results` and so on."""
    connection = connect()
    fill(connection, lake, run_id=run_id)
    return connection

"""The lake on Spark, for histories that outgrow one machine: the same files, the same views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyze.query.catalog import EVERYTHING, VIEWS, name_of
from analyze.spark.files import stored_lake, stored_shared_lake
from analyze.spark.views import create_views, require_profile
from schemas.lake import lake_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyze.share.delta import SharedLake

MARTS = tuple(name_of(view) for view in VIEWS if view.startswith("marts/"))
"""Views that are made to be read."""


def register(
    session: SparkSession,
    source: Path | SharedLake,
    *,
    evaluation_profile: str | None = None,
    kept: bool = False,
) -> tuple[str, ...]:
    """Create every raw table and view in a session of Spark; return the names of the marts.

    They stay what they are: files that a compaction replaces later are gone after ten minutes, and
    what comes in is not seen. Register again then.

    Args:
        session: of Spark; its own views of these names are replaced.
        source: the folder of runs, or a shared lake.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.
        kept: what marts stand on is computed now and kept by the session.

    Raises:
        ConfigError: no judge of that profile decides anything in the shared lake.
        SchemaError: a file of the lake is not ours, or of a newer version.
        ViewError: one of the files cannot be read.
        ShareFailed: the shared lake cannot be read.
    """
    if isinstance(source, Path):
        stored = stored_lake(lake_of(source))
    else:
        stored = stored_shared_lake(source)
        if evaluation_profile is not None:
            require_profile(session, stored, evaluation_profile, source.location.url)
    create_views(session, stored, EVERYTHING, evaluation_profile=evaluation_profile, kept=kept)
    return MARTS

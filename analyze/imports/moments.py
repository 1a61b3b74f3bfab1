"""Times that other tools wrote as text, to milliseconds; without a zone they are UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def moment_of(text: object) -> int | None:
    """Return the milliseconds since 1970 of an ISO 8601 time; None when it is none we can use."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    since = (found - EPOCH) // MILLISECOND
    return since if since >= 0 else None


def file_moment(path: Path) -> int:
    """Return the milliseconds since 1970 at which a file was last written.

    Raises:
        OSError: it is not there.
    """
    return max(0, path.stat().st_mtime_ns // 1_000_000)

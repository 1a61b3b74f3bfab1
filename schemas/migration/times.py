"""When an older report says that it began: its own time, else the earliest of its instances."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

UNKNOWN_TIME = "1970-01-01T00:00:00Z"
"""The start of a report when neither the file nor anybody else says one."""


def utc_text(moment: datetime) -> str:
    """Return a time as text in UTC with Z, to the second; one without a zone is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(text: str) -> datetime | None:
    """Return the time that a text of ISO 8601 says; None for any other text."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def earliest(texts: Iterable[str | None]) -> str | None:
    """Return the text of the earliest time; None where not all can be compared.

    Times with a zone and without one cannot be compared.
    """
    known = [text for text in texts if text]
    read = [(read_time(text), text) for text in known]
    times = [(time, text) for time, text in read if time is not None]
    zoned = {time.tzinfo is not None for time, _ in times}
    if len(times) < len(known) or len(zoned) != 1:
        return None
    return min(times)[1]


def compact(text: str) -> str:
    """Return a time as it stands in the name of a run: `20251229_143000`."""
    moment = read_time(text)
    if moment is not None:
        return moment.strftime("%Y%m%d_%H%M%S")
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")[:40] or "unknown"

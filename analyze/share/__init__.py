"""One history from many machines: runs of a lake go to a shared one, and come from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.io.shared_url import location_of, require_library

if TYPE_CHECKING:
    from analyze.share.delta import SharedLake


def open_shared(url: str) -> SharedLake:
    """Return a shared lake by its URL; nothing is asked of its server yet.

    Raises:
        ConfigError: that is no URL of one, or the library that it needs is not installed.
    """
    location = location_of(url)
    require_library()
    from analyze.share.delta import SharedLake  # noqa: PLC0415 - few commands need it

    return SharedLake(location)

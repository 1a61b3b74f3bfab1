"""The folder of what can be had again: the embedded model, copies of shared lakes, libraries."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

CACHE = "BENCHLAKE_CACHE"
"""The variable that names another folder than the user's cache."""


def cache_folder() -> Path:
    """Return the folder, which need not exist."""
    override = os.environ.get(CACHE)
    return Path(override) if override else platformdirs.user_cache_path("benchlake")

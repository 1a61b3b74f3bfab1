"""Where thresholds are from: which file, and enough of its hash to tell two versions apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import shown

if TYPE_CHECKING:
    from schemas.output.comparison import ThresholdsUsed

HASH_SHOWN = 12
"""Characters of a hash that people are shown; JSON has them all."""


def limits_source(limits: ThresholdsUsed) -> str:
    """Return the file that thresholds are from: `benchlake.yaml, sha256 8f041cb4c5cc`."""
    if limits.path is None or limits.sha256 is None:
        return "packaged defaults"
    return f"{shown(Path(limits.path))}, sha256 {limits.sha256[:HASH_SHOWN]}"

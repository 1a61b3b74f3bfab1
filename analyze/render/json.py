"""A record as JSON for programs: unrounded, in the order of its fields, one line a value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.base import Record


def record_json(record: Record) -> str:
    """Return a record as JSON; what a terminal would obey is written as an escape (D-H5)."""
    return json.dumps(record.model_dump(mode="json"), indent=2)

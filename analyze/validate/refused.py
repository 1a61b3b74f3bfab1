"""What a record of ours refuses in the text of somebody's JSON, strictly: each place of it.

The texts are read as the lake reads them: nothing is converted, so `"5"` is no number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ValidationError

from schemas.base import Finding
from schemas.formats.fields import findings_of

Unknown = Literal["ignore", "forbid"]


def refused(
    record: type[BaseModel],
    text: bytes,
    line: int | None = None,
    *,
    unknown: Unknown = "ignore",
) -> Iterator[Finding]:
    """Yield what does not fit a record's declaration.

    Args:
        record: the declaration.
        text: one JSON object.
        line: number of the line it stands on, in a file of lines.
        unknown: whether fields that the declaration does not have are passed over, or told as
            warnings.
    """
    try:
        record.model_validate_json(text, strict=True, extra=unknown)
    except ValidationError as exc:
        yield from findings_of(exc, line=line)

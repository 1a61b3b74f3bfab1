"""The records of a comparison, built: each would take a millisecond at its first use.

To be imported while the engine works (`analyze.cli_startup`).
"""

from schemas.base import Record
from schemas.output import comparison

for record in list(vars(comparison).values()):
    if isinstance(record, type) and issubclass(record, Record):
        record.model_rebuild()

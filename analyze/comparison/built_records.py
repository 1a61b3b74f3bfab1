"""The records of a comparison, built: each would take a millisecond at its first use.

To be imported while the engine works (`analyze.cli_startup`).
"""

from schemas.base import Interval, PassK
from schemas.config.project import Thresholds
from schemas.output.comparison import (
    AxisReport,
    CaseChange,
    Comparison,
    GroupComparison,
    NightNoise,
    PlainDifference,
    RateDifference,
    Ratio,
    Side,
    SideFacts,
    ThresholdsUsed,
)

RECORDS = (
    Thresholds,
    ThresholdsUsed,
    AxisReport,
    Interval,
    PassK,
    SideFacts,
    NightNoise,
    Ratio,
    Side,
    RateDifference,
    GroupComparison,
    PlainDifference,
    CaseChange,
    Comparison,
)

for record in RECORDS:
    record.model_rebuild()

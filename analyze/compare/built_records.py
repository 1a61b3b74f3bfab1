"""The records of a comparison, built: each would take a millisecond at its first use.

To be imported while the engine works (`analyze.meanwhile`).
"""

from schemas.interval import Interval, PassK
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
from schemas.thresholds import Thresholds

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

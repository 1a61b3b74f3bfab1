"""Who may ask a model, and when: its own limit, the run's limit, its pace, its retries (D-E6)."""

from collect.limits.concurrency import (
    MAX_HOLD_S,
    MIN_ROUND_ANSWERS,
    Gate,
    Limiter,
    SharedGate,
    Slot,
    Stopped,
)
from collect.limits.retry import wait_before, with_retries
from collect.limits.share import NOTHING, WHOLE, Share, part_of

__all__ = [
    "MAX_HOLD_S",
    "MIN_ROUND_ANSWERS",
    "NOTHING",
    "WHOLE",
    "Gate",
    "Limiter",
    "Share",
    "SharedGate",
    "Slot",
    "Stopped",
    "part_of",
    "wait_before",
    "with_retries",
]

"""Which trials a page shows word for word, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analyze.render.numbers import whole
from schemas.output.report import Transcript

WHY = {
    "flipped": "whose case flipped",
    "failed": "that failed or did not pass",
    "sampled": "that passed",
}
"""In the order of the page."""

BESIDE = "of the baseline beside them"


def shown_trials(shown: Sequence[Transcript]) -> str:
    """Return how many trials are shown, and why: `2 whose case flipped, 3 that passed`."""
    counted = Counter(BESIDE if one.is_baseline else WHY[one.why] for one in shown)
    order = [WHY["flipped"], BESIDE, WHY["failed"], WHY["sampled"]]
    return ", ".join(f"{whole(counted[what])} {what}" for what in order if counted[what])

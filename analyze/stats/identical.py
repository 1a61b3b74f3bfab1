"""Whether repeating a case changed anything (S21); standard library only.

Apart from what is computed of repetitions, since the collector plans with it.
"""

from __future__ import annotations

IDENTICAL_PERCENT = 95
"""From this share of repeated cases on, repetitions count as one trial."""


def repetitions_identical(n_repeated: int, n_identical: int) -> bool | None:
    """Return whether repeating changed nothing, or None when nothing was repeated.

    Args:
        n_repeated: cases with at least two answers.
        n_identical: those of them whose answers are byte-identical.
    """
    if n_repeated == 0:
        return None
    return 100 * n_identical >= IDENTICAL_PERCENT * n_repeated

"""Names of places in a page: a transcript can be linked to, from a matrix and from a message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from schemas.output.report import Transcript
from schemas.run.model_names import id_of

UNSAFE = re.compile(r"[^a-z0-9_-]")

LONGEST = 48
"""Characters of a name that are kept; a longer one ends in a hash."""

Place = tuple[str, str, str, int]
"""run_id, model_id, case_id, repetition."""


def trial_anchor(model_id: str, case_id: str, repetition: int, *, is_baseline: bool = False) -> str:
    """Return the id of a trial's transcript: `trial-tiny-capital_of_france-2`, with `-base` after.

    A name with other characters than ids have ends in a hash of itself.
    """
    end = "-base" if is_baseline else ""
    return f"trial-{_safe(id_of(model_id))}-{_safe(case_id)}-{repetition}{end}"


def anchors_of(shown: Iterable[Transcript]) -> list[str]:
    """Return the id of each transcript, no two the same.

    Two can ask for the same where several runs are the baseline, or where dashes of names meet.
    """
    anchors: list[str] = []
    taken: set[str] = set()
    for one in shown:
        wanted = anchor = trial_anchor(
            one.model_id, one.case_id, one.repetition, is_baseline=one.is_baseline
        )
        n = 1
        while anchor in taken:
            n += 1
            anchor = f"{wanted}_{n}"
        taken.add(anchor)
        anchors.append(anchor)
    return anchors


def place_of(one: Transcript) -> Place:
    """Return what a link to a transcript knows of its trial."""
    return one.run_id, one.model_id, one.case_id, one.repetition


def _safe(name: str) -> str:
    if len(name) <= LONGEST and not UNSAFE.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{UNSAFE.sub('_', name[:LONGEST].lower())}_{digest}"

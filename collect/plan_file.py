"""plan.jsonl as a run reads it: each model's trials in order, one line at a time.

A new run and a resumed one both take their trials from the file, so that what was planned is what
is made, and a plan of a million trials takes no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from schemas.run.plan import PlannedTrial


def trial_of(line: bytes) -> PlannedTrial:
    """Return a line of the plan as the trial it is."""
    return PlannedTrial.model_validate_json(line)


def trials_of(
    path: Path, model_id: str, is_finished: Callable[[str, str, int], bool] | None
) -> Iterator[PlannedTrial]:
    """Yield one model's trials that are not finished; its lines stand together in the file.

    Args:
        path: of plan.jsonl.
        model_id: whose trials.
        is_finished: tells by model_id, case_id and repetition; None when none is.
    """
    mark = b'"model_id":"%s"' % model_id.encode()
    found = False
    with path.open("rb") as file:
        for line in file:
            if mark not in line:
                if found:
                    return
                continue
            found = True
            if is_finished is None:
                yield trial_of(line)
                continue
            row = orjson.loads(line)  # a finished trial is passed over without being checked
            if not is_finished(row["model_id"], row["case_id"], row["repetition"]):
                yield trial_of(line)

"""`--reuse`: answers of earlier runs become lines of a new one, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson

from collect.plan_file import trial_of
from collect.run_folder.log import RunLog
from collect.run_folder.reuse import find_reusable, reused_result


def take_over(log: RunLog, is_final: Callable[[str, str, int], bool]) -> int:
    """Write a line for every planned trial that an earlier run has answered; return how many.

    The trace is copied, so that the new run holds all of it whatever becomes of the old one.
    """
    run_dir, taken = log.run_dir, 0
    places = _planned_places(run_dir / "plan.jsonl", is_final)
    with (run_dir / "plan.jsonl").open("rb") as plan:
        for found in find_reusable(run_dir.parent, run_dir.name, places):
            for place in places[found.run_fingerprint]:
                plan.seek(place)
                trial = trial_of(plan.readline())
                path = found.frame and log.append_artifact(trial.model_id, found.frame)
                log.append(reused_result(found.result, trial, path or None))
                taken += 1
    return taken


def _planned_places(plan: Path, is_final: Callable[[str, str, int], bool]) -> dict[str, list[int]]:
    """Return where the open trials of each run_fingerprint stand; two model_ids may share one."""
    places: dict[str, list[int]] = {}
    begin = 0
    with plan.open("rb") as file:
        for line in file:
            row = orjson.loads(line)
            if not is_final(row["model_id"], row["case_id"], row["repetition"]):
                places.setdefault(row["run_fingerprint"], []).append(begin)
            begin += len(line)
    return places

"""What the last run used: mean tokens of each case with each model, for a better estimate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson

from collect.estimate import CaseKey, TokensSeen
from schemas.trial import PlannedTrial


def tokens_seen(run_dir: Path, plan: Iterable[PlannedTrial]) -> dict[CaseKey, TokensSeen]:
    """Return the tokens of earlier answers to the very cases of a plan.

    An answer to another text under the same case_id says nothing and is left out; so is a line
    that cannot be read, since an estimate is no place to complain.
    """
    hashes = {(trial.model_id, trial.case_id): trial.case_hash for trial in plan}
    totals: dict[CaseKey, list[int]] = {}
    try:
        lines = (run_dir / "results.jsonl").read_bytes().splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            row = orjson.loads(line)
            key = row["model_id"], row["case_id"]
            sent, received = row["input_tokens"], row["output_tokens"]
            fits = hashes.get(key) == row["case_hash"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue
        if fits and isinstance(sent, int) and isinstance(received, int):
            total = totals.setdefault(key, [0, 0, 0])
            for at, value in enumerate((sent, received, 1)):
                total[at] += value
    return {
        key: TokensSeen(round(sent / count), round(received / count))
        for key, (sent, received, count) in totals.items()
    }

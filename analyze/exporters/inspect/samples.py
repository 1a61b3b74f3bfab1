"""Samples of a run in the columns of Inspect's `samples_df`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyze.exporters import RunExport
from analyze.show.trace_file import validators_of

OF_VIEW = (
    "sample_id", "eval_id", "id", "epoch", "input", "target", "description", "total_tokens",
    "total_time", "working_time", "error", "limit", "retries", "score_headline_name",
    "score_headline_value", "model", "model_id", "case_id", "scores", "input_tokens",
    "output_tokens",
)  # fmt: skip
OF_TRIAL = ("cached_input_tokens", "reasoning_tokens", "cost_usd", "passed")

BEFORE_SCORES = ("sample_id", "eval_id", "id", "epoch", "input", "target", "description")
BEHIND_SCORES = (
    "model_usage", "total_tokens", "total_time", "working_time", "error", "limit", "retries",
    "score_headline_name", "score_headline_value", "model", "model_id", "case_id",
)  # fmt: skip


def samples_of(
    wanted: RunExport, eval_ids: Mapping[str, str], folder: Path | None
) -> dict[str, list[Any]]:
    """Return the columns, with one of each score, by name.

    Args:
        wanted: the run and its models.
        eval_ids: by model_id.
        folder: of the run, whose cases say what is asked for; None: it is not here.

    Raises:
        ViewError: the lake cannot be read.
    """
    terms = [f'samples."{name}"' for name in OF_VIEW] + [f"trials.{name}" for name in OF_TRIAL]
    found = wanted.session.rows(
        f"select {', '.join(terms)} "  # noqa: S608 - names are our own
        "from (select * from v_inspect_samples where run_id = ?) as samples "
        "inner join (select * from trials where run_id = ?) as trials "
        "on samples.model_id = trials.model_id and samples.case_id = trials.case_id "
        "and samples.epoch = trials.repetition "
        "order by samples.model_id, samples.case_id, samples.epoch",
        [wanted.run_id, wanted.run_id],
    )
    rows = [dict(zip((*OF_VIEW, *OF_TRIAL), row, strict=True)) for row in found]
    rows = [
        row | {"eval_id": eval_ids[row["model_id"]]} for row in rows if row["model_id"] in eval_ids
    ]
    validators = validators_of(folder, {row["case_id"] for row in rows})
    targets = {case_id: _target(one or {}) for case_id, one in validators.items()}
    rows = [row | {"target": targets.get(row["case_id"])} for row in rows]
    scores = [_scores(row) for row in rows]
    names = list(dict.fromkeys(name for one in scores for name in one))
    return (
        {name: [row[name] for row in rows] for name in BEFORE_SCORES}
        | {f"score_{name}": [one.get(name) for one in scores] for name in names}
        | {"model_usage": [_usage(row) for row in rows]}
        | {name: [row[name] for row in rows] for name in BEHIND_SCORES if name != "model_usage"}
    )


def _target(validator: Mapping[str, Any]) -> str | None:
    """Return what an answer is compared with, as the tool joins several."""
    value = validator.get("values", validator.get("value"))
    values = value if isinstance(value, list) else [value]
    return None if value is None else ",".join(map(str, values))


def _scores(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the numbers of a trial; of one that no other tool scored, its verdict."""
    if row["scores"]:
        return {one["name"]: one["value"] for one in row["scores"]}
    return {"passed": None if row["passed"] is None else float(row["passed"])}


def _usage(row: Mapping[str, Any]) -> str | None:
    """Return the tokens of a trial by its model; cached ones stand beside the input there."""
    prompt, cached = row["input_tokens"], row["cached_input_tokens"]
    usage = {
        "input_tokens": None if prompt is None else max(0, prompt - (cached or 0)),
        "output_tokens": row["output_tokens"],
        "total_tokens": row["total_tokens"],
        "input_tokens_cache_read": cached,
        "reasoning_tokens": row["reasoning_tokens"],
        "total_cost": row["cost_usd"],
    }
    known = {name: number for name, number in usage.items() if number is not None}
    return json.dumps({row["model"]: known}) if known else None

"""Evals of a run in the columns of Inspect's `evals_df`: what lake and log say."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from analyze.exporters import RunExport
from analyze.exporters.run_trials import import_record
from schemas.run.import_record import Headline, ImportRecord

INSPECT = "inspect"

Row = dict[str, Any]
Log = Mapping[str, JsonValue]

OF_VIEW = (
    "eval_id", "eval_set_id", "run_id", "task_id", "created", "tags", "task_name",
    "task_display_name", "model", "dataset_samples", "epochs", "status", "total_samples",
    "completed_samples", "score_headline_name", "score_headline_metric", "score_headline_value",
    "score_headline_stderr", "provider", "thinking_level", "model_id",
)  # fmt: skip

PLACES = {
    "eval_id": ("eval_id",),
    "eval_set_id": ("eval_set_id",),
    "run_id": ("run_id",),
    "task_id": ("task_id",),
    "git_origin": ("revision", "origin"),
    "git_commit": ("revision", "commit"),
    "packages": ("packages",),
    "metadata": ("log", "metadata"),
    "task_display_name": ("task_display_name",),
    "task_description": ("task_description",),
    "task_version": ("task_version",),
    "task_file": ("task_file",),
    "task_attribs": ("task_attribs",),
    "solver": ("solver",),
    "solver_args": ("solver_args",),
    "sandbox_type": ("sandbox", "type"),
    "sandbox_config": ("sandbox", "config"),
    "model": ("model",),
    "model_base_url": ("model_base_url",),
    "model_args": ("model_args",),
    "model_generate_config": ("model_generate_config",),
    "model_roles": ("model_roles",),
    "dataset_name": ("dataset", "name"),
    "dataset_location": ("dataset", "location"),
    "dataset_samples": ("dataset", "samples"),
    "dataset_sample_ids": ("dataset", "sample_ids"),
    "dataset_shuffled": ("dataset", "shuffled"),
    "epochs": ("config", "epochs"),
    "epochs_reducer": ("config", "epochs_reducer"),
    "approval": ("config", "approval"),
    "message_limit": ("config", "message_limit"),
    "token_limit": ("config", "token_limit"),
    "token_limit_type": ("config", "token_limit_type"),
    "turn_limit": ("config", "turn_limit"),
    "time_limit": ("config", "time_limit"),
    "working_limit": ("config", "working_limit"),
    "status": ("log", "status"),
    "error_message": ("log", "error", "message"),
    "error_traceback": ("log", "error", "traceback"),
    "total_samples": ("results", "total_samples"),
    "completed_samples": ("results", "completed_samples"),
}
"""Where a column of the frame stands in what an import kept of a log."""

ORDER = (
    "eval_id", "log", "eval_set_id", "run_id", "task_id", "created", "tags", "git_origin",
    "git_commit", "packages", "metadata", "task_name", "task_display_name", "task_description",
    "task_version", "task_file", "task_attribs", "solver", "solver_args", "sandbox_type",
    "sandbox_config", "model", "model_base_url", "model_args", "model_generate_config",
    "model_roles", "dataset_name", "dataset_location", "dataset_samples", "dataset_sample_ids",
    "dataset_shuffled", "epochs", "epochs_reducer", "approval", "message_limit", "token_limit",
    "token_limit_type", "turn_limit", "time_limit", "working_limit", "status", "error_message",
    "error_traceback", "total_samples", "completed_samples", "score_headline_name",
    "score_headline_score", "score_headline_metric", "score_headline_value",
    "score_headline_stderr",
)  # fmt: skip
"""Of columns; those of scores and arguments follow, then ours."""

OURS = ("provider", "thinking_level", "model_id")


def evals_of(wanted: RunExport, folder: Path | None) -> dict[str, list[Any]]:
    """Return the columns, with a row a chosen model.

    Args:
        wanted: the run and its models.
        folder: of the run; None: it is not here, and an import has what the lake has.

    Raises:
        ViewError: the lake cannot be read.
    """
    chosen = {one.model_id for one in wanted.chosen}
    found = wanted.session.rows(
        f"select {', '.join(OF_VIEW)} "  # noqa: S608 - names are our own
        "from v_inspect_evals where run_id = ? order by model_id",
        [wanted.run_id],
    )
    record = import_record(folder)
    rows = [dict(zip(OF_VIEW, values, strict=True)) for values in found]
    made = [_row(row, wanted.run_id, record) for row in rows if row["model_id"] in chosen]
    more = (name for row in made for name in row if name not in {*ORDER, *OURS})
    names = (*ORDER, *dict.fromkeys(more), *OURS)
    return {name: [row.get(name) for row in made] for name in names}


def _row(row: Row, run_id: str, record: ImportRecord | None) -> Row:
    created = row["created"]
    row |= {
        "log": run_id,
        "created": None if created is None else created.replace(tzinfo=UTC),
        "tags": ",".join(row["tags"] or ()),
        "score_headline_score": row["score_headline_name"],
    }
    if record is None:
        return row
    log = record.leftover if record.source_format == INSPECT else {}
    return row | dict(_of_log(log)) | _of_headlines(record.headlines, row["model_id"], log)


def _of_log(log: Log) -> Iterator[tuple[str, Any]]:
    """Yield what the head of a log says, by column."""
    for name, place in PLACES.items():
        if (value := _at(log, *place)) is not None:
            yield name, _plain(value)
    if isinstance(task := log.get("task"), str):
        yield "task_name", task.partition("/")[2] or task
    if isinstance(tags := _at(log, "log", "tags"), list):
        yield "tags", ",".join(map(str, tags))
    with contextlib.suppress(TypeError, ValueError):
        yield "created", datetime.fromisoformat(str(log["created"])).astimezone(UTC)
    if isinstance(arguments := log.get("task_args"), dict):
        for name, value in arguments.items():
            yield f"task_arg_{name}", _text(_plain(value))


def _at(log: Log, *place: str) -> JsonValue:
    value: JsonValue = dict(log)
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _plain(value: JsonValue) -> Any:
    """Return a value of a cell: JSON text of what is none, without its nulls."""
    return json.dumps(_known(value)) if isinstance(value, dict | list) else value


def _known(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _known(one) for name, one in value.items() if one is not None}
    return [_known(one) for one in value] if isinstance(value, list) else value


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _of_headlines(headlines: Sequence[Headline], model_id: str, log: Log) -> Row:
    """Return the numbers that the other tool shows, a column a score and metric."""
    shown = [one for one in headlines if one.model_id == model_id and one.tag is None]
    if not shown:
        return dict.fromkeys(name for name in ORDER if name.startswith("score_"))
    first = _declared(shown, log)
    scorer, _, score = first.name.partition("/")
    found: Row = {
        "score_headline_name": scorer,
        "score_headline_score": score or scorer,
        "score_headline_metric": first.metric.partition("/")[0],
        "score_headline_value": first.value,
        "score_headline_stderr": first.stderr,
    }
    parts = [(one, one.name.partition("/")[2] or one.name, *_metric(one)) for one in shown]
    several = Counter((name, metric) for _, name, metric, _ in parts)
    for one, name, metric, reducer in parts:
        full = f"{name}_{reducer}" if several[name, metric] > 1 else name
        found[f"score_{full}_{metric}"] = one.value
        if one.stderr is not None:
            found[f"score_{full}_stderr"] = one.stderr
    return found


def _metric(one: Headline) -> tuple[str, str]:
    """Return a metric, and what it makes of the epochs of a sample."""
    metric, _, reducer = one.metric.partition("/")
    return metric, reducer or "mean"


def _declared(shown: Sequence[Headline], log: Log) -> Headline:
    """Return the headline that the task declared, else the first."""
    left = [*shown]
    for key, part in (("scorer", 0), ("score", -1)):
        wanted = _at(log, "headline_metric", key)
        left = [one for one in left if one.name.split("/", 1)[part] == wanted] if wanted else left
    metric = _at(log, "headline_metric", "metric")
    left = [one for one in left if _metric(one)[0] == metric] if metric else left
    return left[0] if left else shown[0]

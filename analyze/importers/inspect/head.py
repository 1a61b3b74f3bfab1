"""What the head of a log says: names, times, numbers that the tool shows, and what else is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from analyze.importers.defaults import moment_of
from analyze.importers.inspect.values import Json, kept, mapping, rows, words
from schemas.run.import_record import Headline

OF_SPEC = (
    "eval_id", "eval_set_id", "run_id", "created", "task", "task_id", "task_version", "task_file",
    "task_display_name", "task_description", "task_registry_name", "task_attribs", "task_args",
    "task_args_passed", "solver", "solver_args", "solver_args_passed", "tags", "dataset", "sandbox",
    "model", "model_generate_config", "model_base_url", "model_args", "model_roles", "config",
    "revision", "packages", "metadata", "scorers", "metrics", "headline_metric", "shards",
)  # fmt: skip
"""Fields of `eval` that are kept as they are."""

OF_LOG = ("version", "status", "error", "stats", "invalidated", "tags", "metadata", "plan",
          "log_updates", "config_updates")  # fmt: skip

STDERR = "stderr"
OF_MEANS = frozenset({"accuracy", "mean"})
"""Metrics that a standard error of the same score is of."""


def leftover_of(header: Json) -> dict[str, JsonValue]:
    """Return what a row has no place for: of `eval` by its field, of the log below `log`."""
    spec = mapping(header.get("eval"))
    found = {name: spec[name] for name in OF_SPEC if spec.get(name) is not None}
    about = {name: header[name] for name in OF_LOG if header.get(name) is not None}
    results = mapping(header.get("results"))
    counts = ("total_samples", "completed_samples", "logged_samples", "early_stopping")
    sample_counts = {name: results[name] for name in counts if results.get(name) is not None}
    kept_of = {name: kept(value) for name, value in found.items()}
    return kept_of | {"log": kept(about), "results": kept(sample_counts)}


def started_at(header: Json) -> int | None:
    """Return when a log began, in ms since 1970."""
    stats = mapping(header.get("stats"))
    moment = moment_of(words(stats.get("started_at")))
    return moment_of(mapping(header.get("eval")).get("created")) if moment is None else moment


MEAN, UNREDUCED = "mean", "unreduced"
"""What becomes of the epochs of a sample; a log says neither, and its configuration which."""


def provider_of(model: str) -> str:
    """Return the provider, with which the tool's names of models begin."""
    name, slash, _ = model.partition("/")
    return name if slash and name else "inspect"


def request_of(header: Json) -> Json:
    """Return what every request of a log was made with."""
    spec = mapping(header.get("eval"))
    config = mapping(spec.get("model_generate_config"))
    asked = {"model": spec.get("model")} | {k: v for k, v in config.items() if v is not None}
    return mapping(kept(asked))


def thinking_level_of(header: Json) -> str | None:
    """Return the effort that was asked for."""
    config = mapping(mapping(header.get("eval")).get("model_generate_config"))
    return words(config.get("reasoning_effort"))


def headlines_of(header: Json, model_id: str) -> Iterator[Headline]:
    """Yield the numbers that the tool shows, as the log has them, in its order."""
    results = mapping(header.get("results"))
    scores = [one for one in rows(results.get("scores")) if isinstance(one, dict)]
    if not scores and isinstance(results.get("scorer"), dict):  # the first logs had one
        scores = [results["scorer"] | {"metrics": results.get("metrics")}]
    config = mapping(mapping(header.get("eval")).get("config"))
    by_default = UNREDUCED if config.get("epochs_reducer") == [] else MEAN
    for score in scores:
        name, scorer = words(score.get("name")), words(score.get("scorer"))
        if name is None:
            continue
        full = name if scorer in {None, name} else f"{scorer}/{name}"
        metrics = {key: mapping(one) for key, one in mapping(score.get("metrics")).items()}
        errors = [key for key, one in metrics.items() if STDERR in (key, one.get("name"))]
        stderr = _number(metrics[errors[0]].get("value")) if errors else None
        others = [key for key in metrics if key not in errors]
        means = [key for key in others if OF_MEANS & {key, words(metrics[key].get("name"))}]
        owners = set(means or others[:1])
        reducer = words(score.get("reducer")) or by_default
        behind = "" if reducer == MEAN else f"/{reducer}"
        for key in others or errors:
            yield Headline(
                model_id=model_id,
                name=full,
                metric=f"{key}{behind}",
                value=_number(metrics[key].get("value")),
                stderr=stderr if key in owners else None,
            )


def _number(value: Any) -> float | None:
    found = kept(value)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None

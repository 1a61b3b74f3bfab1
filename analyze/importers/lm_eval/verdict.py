"""Which of a task's numbers is its verdict, and all of them as the tool's headline.

The harness has no deciding score: a task has a mean for each metric and filter. The first one that
it lists whose every value is 0 or 1 is the verdict here; a score of degrees is none, also where a
few documents happened to have no degree between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from analyze.importers.lenient import number, object_in
from analyze.importers.lm_eval.files import Samples
from schemas.run.import_record import Headline

DEGREES = re.compile(
    r"f1|bleu|rouge|chrf|\bter\b|perplexity|ppl|likelihood|brier|mcc|bits_per|_diff\b|_max\b",
    re.IGNORECASE,
)
"""In the name of a metric that measures how much, not whether."""

STDERR = "_stderr"

NO_METRICS = frozenset({"alias", "name", "sample_len", "sample_count", "samples"})


class Deciding(NamedTuple):
    """The metric and filter of a task's verdict."""

    metric: str
    filter: str
    higher_is_better: bool = True
    is_verdict: bool = True
    """Every document has 0 or 1."""

    @property
    def name(self) -> str:
        """As the harness writes it."""
        return f"{self.metric},{self.filter}"

    def passed(self, value: float | None) -> bool | None:
        """Return what a value of it says."""
        if value is None or not self.is_verdict:
            return None
        return (value == 1) is self.higher_is_better


def split_name(key: str) -> tuple[str, str]:
    """Return metric and filter of `metric,filter`; older files have no filter in it."""
    metric, comma, name = key.rpartition(",")
    return (metric, name) if comma else (key, "none")


def metrics_of(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of an entry of `results` that are metrics rather than errors or labels."""
    for key in entry:
        metric, _ = split_name(key)
        is_stderr = metric.endswith(STDERR) and _without_stderr(key) in entry
        if key not in NO_METRICS and not is_stderr:
            yield key


def _without_stderr(key: str) -> str:
    metric, comma, name = key.rpartition(",")
    return (metric if comma else name).removesuffix(STDERR) + (f",{name}" if comma else "")


def deciding_of(results: dict[str, Any], task: str, samples: Samples) -> Deciding:
    """Return the metric and filter that decide a task's documents."""
    listed = [split_name(key) for key in metrics_of(results["results"][task])]
    seen = {
        (metric, name)
        for filters in samples.docs.values()
        for name, one in filters.items()
        for metric in one.scores
    }
    known = [one for one in listed if one in seen] or sorted(seen)
    better = object_in(results, "higher_is_better", task)
    for metric, name in known:
        if not DEGREES.search(metric) and _is_binary(samples, metric, name):
            return Deciding(metric, name, better.get(metric) is not False)
    filters = next(iter(samples.docs.values()), {})
    metric, name = known[0] if known else ("", next(iter(filters), "none"))
    return Deciding(metric, name, is_verdict=False)


def _is_binary(samples: Samples, metric: str, name: str) -> bool:
    values = [
        filters[name].scores.get(metric) for filters in samples.docs.values() if name in filters
    ]
    return bool(values) and all(value in {0, 1} for value in values)


def headlines_of(results: dict[str, Any], model_id: str) -> Iterator[Headline]:
    """Yield every number of every task and group, in the order of the file."""
    every = results["results"] | object_in(results, "groups")
    for task, entry in every.items():
        if not isinstance(entry, dict):
            continue
        for key in metrics_of(entry):
            metric, name = split_name(key)
            error = f"{metric}{STDERR},{name}" if "," in key else f"{metric}{STDERR}"
            if isinstance(entry[key], str) and number(entry[key]) is None and error not in entry:
                continue  # a label
            yield Headline(
                model_id=model_id,
                name=key,
                tag=task if len(every) > 1 else None,
                metric=_aggregation(object_in(results, "configs", task), metric),
                value=number(entry[key]),
                stderr=number(entry.get(error)),
            )


def _aggregation(config: dict[str, Any], metric: str) -> str:
    """Return how a metric of all documents is made of them, as far as the file says it."""
    for listed in ("metric_list", "aggregate_metric_list"):
        rows = config.get(listed)
        for row in rows if isinstance(rows, list) else []:
            if not isinstance(row, dict) or row.get("metric") != metric:
                continue
            how = row.get("aggregation")
            named = how if isinstance(how, str) else "aggregate"
            if listed == "metric_list":
                return named
            weighted = row.get("weight_by_size") is not False
            return f"{named} weighted by size" if weighted else f"{named} of tasks"
    return "aggregate"

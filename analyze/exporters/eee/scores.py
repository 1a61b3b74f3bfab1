"""The scores of one model: its pass rate, what judges gave it, and numbers of other tools."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from analyze.exporters.eee.model_facts import judge_info, judge_prompt
from analyze.exporters.eee.names import Place
from analyze.exporters.eee.samples import PASS_RATE
from analyze.exporters.eee.transcript import texts_of
from schemas.run.judgement import MAX_SCORE

if TYPE_CHECKING:
    from pathlib import Path

    from analyze.query.session import Session
    from schemas.base import Interval
    from schemas.output.summary import GroupSummary

JUDGEMENTS = """
select evaluation_profile_id, record_no, final_score, pass_threshold, judge_runs
from judgements
where run_id = ? and model_id = ? and is_current
order by evaluation_profile_id, case_id, repetition
"""

JUDGES = """
select evaluation_profile_id, judge_id, requested_model, min(artifact_path), count(*)
from judge_iterations
where run_id = ? and model_id = ? and is_current
group by all
order by all
"""

NAMED = """
select score_name, record_no, score
from scores
where run_id = ? and model_id = ?
order by score_name, case_id, repetition
"""

LOWER_IS_BETTER = frozenset(
    {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score"}
    | {"loss", "ter", "wer", "cer"}
)
"""Scores of which less is better, by name; of the others nobody wrote down which way is up."""

NO_PROMPT = "not kept: the exchanges with the judge are not in the run's folder"
COUNTS = (
    *("n_planned", "n_scorable", "n_total", "n_ok", "n_success", "score_strict"),
    *("score_available", "coverage", "n_cases", "n_clusters"),
)
"""Of the summary, beside the pass rate."""


@dataclass
class Scores:
    """The results of one model, and what each of its trials was given."""

    results: list[dict[str, JsonValue]] = field(default_factory=list)
    by_trial: dict[int, dict[str, str]] = field(default_factory=dict)
    """By record_no: what its row says beside the verdict."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Scores that are no number of any scale, and why."""

    def note(self, record_no: int, name: str, value: float | None) -> None:
        """Keep what a trial was given."""
        if value is not None:
            self.by_trial.setdefault(record_no, {})[name] = repr(value)


@dataclass(frozen=True)
class Scored:
    """Whose scores are wanted."""

    session: Session
    run_id: str
    model_id: str
    place: Place
    folder: Path | None


def scores_of(scored: Scored, summary: GroupSummary | None, n_scored: int) -> Scores:
    """Return all scores of a model.

    Args:
        scored: the model.
        summary: of the model, whose pass rate and interval are those of every other page.
        n_scored: trials with a verdict.

    Raises:
        ViewError: the lake cannot be read.
    """
    found = Scores()
    if summary is not None and summary.passed_rate is not None:
        found.results.append(_pass_rate(scored.place, summary, n_scored))
    _add_judged(scored, found)
    _add_named(scored, found)
    return found


def _pass_rate(place: Place, summary: GroupSummary, n_scored: int) -> dict[str, JsonValue]:
    known = {name: getattr(summary, name) for name in COUNTS}
    known |= {
        "n_scored": n_scored,
        "n_without_verdict": summary.n_total - n_scored,
        "n_missing": summary.n_planned - summary.n_total,
        "failures": summary.failures or None,
    }
    uncertainty, more = uncertainty_of(summary.passed_ci95, n_scored)
    return result(
        place,
        PASS_RATE,
        summary.passed_rate or 0.0,
        rate_config("Passed among trials with a verdict"),
        {"details": texts_of({**known, **more}), "uncertainty": uncertainty},
    )


def rate_config(name: str, unit: str = "proportion", most: float = 1.0) -> dict[str, JsonValue]:
    """Return the `metric_config` of a mean of what lies between 0 and `most`."""
    return {
        "metric_name": name,
        "metric_unit": unit,
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": most,
    }


def uncertainty_of(
    interval: Interval | None, n_trials: int
) -> tuple[dict[str, JsonValue], dict[str, Any]]:
    """Return the `uncertainty` of a rate, and what else there is to say of its interval."""
    if interval is None:
        return {"num_samples": n_trials}, {}
    limits: dict[str, JsonValue] = {
        "lower": interval.low,
        "upper": interval.high,
        "confidence_level": 0.95,
        "method": interval.method,
    }
    more = {
        "interval_of": "mean over clusters of cases" if interval.n_clusters else "mean over cases",
        "interval_estimate": interval.estimate,
        "interval_effective_trials": interval.n_eff,
    }
    return {"confidence_interval": limits, "num_samples": n_trials}, more


def result(
    place: Place,
    metric: str,
    score: float,
    config: Mapping[str, JsonValue],
    details: Mapping[str, Any],
) -> dict[str, JsonValue]:
    """Return one of the `evaluation_results`.

    Args:
        place: of the evaluation.
        metric: which score, unique in it.
        score: the number.
        config: what more is known of the metric.
        details: what stands beside the number.
    """
    return {
        "evaluation_result_id": f"{place.evaluation_id}/{metric}",
        "evaluation_name": place.suite,
        "source_data": {"dataset_name": place.suite, "source_type": "other"},
        "evaluation_timestamp": place.timestamp,
        "metric_config": {"metric_id": metric, "metric_kind": metric.partition("/")[0], **config},
        "score_details": {"score": score, **details},
    }


def _add_judged(scored: Scored, found: Scores) -> None:
    """Add the mean final score of each evaluation profile, on 0-10."""
    of = [scored.run_id, scored.model_id]
    judges: dict[str, list[tuple[Any, ...]]] = {}
    for profile, *judge in scored.session.rows(JUDGES, of):
        judges.setdefault(profile, []).append(tuple(judge))
    rows = scored.session.rows(JUDGEMENTS, of)
    for profile, said in groupby(rows, key=lambda row: row[0]):
        trials = list(said)
        for _, record_no, score, *_ in trials:
            found.note(record_no, f"judge_score.{profile}", score)
        known = [score for _, _, score, *_ in trials if score is not None]
        if not known:
            found.left_out[f"judge_score/{profile}"] = "no answer of a judge could be used"
            continue
        thresholds = sorted({row[3] for row in trials if row[3] is not None})
        details = {
            "evaluation_profile_id": profile,
            "n_judged": len(trials),
            "n_without_score": len(trials) - len(known),
            "pass_threshold": thresholds[0] if len(thresholds) == 1 else thresholds or None,
        }
        config = rate_config(f"Mean final score by {profile}", "points", MAX_SCORE)
        n_runs = max(len(row[4] or ()) for row in trials)
        if scoring := _llm_scoring(scored, judges.get(profile, []), n_runs):
            config["llm_scoring"] = scoring
        extra = {"details": texts_of(details), "uncertainty": {"num_samples": len(known)}}
        mean = math.fsum(known) / len(known)
        found.results.append(result(scored.place, f"judge_score/{profile}", mean, config, extra))


def _llm_scoring(
    scored: Scored, judges: Sequence[tuple[Any, ...]], n_runs: int
) -> dict[str, JsonValue]:
    """Return who judged, and by which prompt; judge runs combine by their median (D-G3)."""
    if not judges:
        return {}
    prompts = (judge_prompt(scored.folder, path) for *_, path, _ in judges)
    listed: list[JsonValue] = [
        {
            "model_info": judge_info(model),
            "additional_details": {"judge_id": judge_id, "n_answers": str(n_answers)},
        }
        for judge_id, model, _, n_answers in judges
    ]
    scoring: dict[str, JsonValue] = {
        "judges": listed,
        "input_prompt": next((one for one in prompts if one is not None), NO_PROMPT),
        "additional_details": {"judge_runs": str(n_runs)},
    }
    return scoring | ({"aggregation_method": "median"} if n_runs > 1 else {})


def _add_named(scored: Scored, found: Scores) -> None:
    """Add the mean of each number that another tool gave; its scale is known to that tool alone."""
    rows: Iterator[tuple[Any, ...]] = iter(
        scored.session.rows(NAMED, [scored.run_id, scored.model_id])
    )
    for name, given in groupby(rows, key=lambda row: row[0]):
        trials = list(given)
        for _, record_no, score in trials:
            found.note(record_no, f"score.{name}", score)
        known = [score for *_, score in trials if score is not None]
        try:
            mean = math.fsum(known) / len(known)
        except (ZeroDivisionError, OverflowError):
            why = "too large for a mean" if known else "nothing was scored"
            found.left_out[f"score/{name}"] = why
            continue
        leaf = name.rpartition("/")[2].partition(",")[0]
        is_lower = leaf in LOWER_IS_BETTER
        direction = "by its name" if is_lower else "not recorded: taken as higher is better"
        config: dict[str, JsonValue] = {
            "metric_name": name,
            "lower_is_better": is_lower,
            "additional_details": {"lower_is_better": direction, "bounds": "not recorded"},
        }
        details = {"n_scored": len(known), "n_without_score": len(trials) - len(known)}
        extra = {"details": texts_of(details), "uncertainty": {"num_samples": len(known)}}
        found.results.append(result(scored.place, f"score/{name}", mean, config, extra))

"""Nights of a suite as a gate sees them: cases, repetitions, what passed, what went wrong."""

from schemas.config.project import Thresholds
from schemas.output.comparison import (
    Comparison,
    GroupComparison,
    RateDifference,
    Ratio,
    Side,
    SideFacts,
    ThresholdsUsed,
)
from schemas.output.regressions import GateRules
from schemas.run.config import load_run_config


def night(
    new_run,
    number,
    *,
    bad=0,
    n_cases=30,
    reps=3,
    models=("good",),
    failing=0,
    failure="http_500",
    e2e_ms=400,
    planned=None,
    **fields,
):
    """Write the run of one night and return its run_id.

    Args:
        new_run: the fixture.
        number: of the night, from 1.
        bad: so many of the first cases fail in every repetition; for several models a mapping.
        n_cases: cases of the suite.
        reps: repetitions.
        models: that are asked.
        failing: so many of the last cases end with `failure` and have no verdict.
        failure: failure type.
        e2e_ms: of every answer; a hundredth more for each case.
        planned: changes to every planned trial.
        fields: changes to every result.
    """

    def outcome(trial):
        n = int(trial.case_id.removeprefix("case-"))
        if n >= n_cases - failing:
            return failure
        n_bad = bad[trial.model_id] if isinstance(bad, dict) else bad
        return {"passed": n >= n_bad, "e2e_ms": e2e_ms * (100 + n) // 100} | fields

    run = new_run(f"night-{number:02d}", day=number)
    cases = [f"case-{n:03d}" for n in range(n_cases)]
    asked = {name: {"model": f"acme/{name}"} for name in models}
    return run.night(cases, outcome, models=asked, repetitions=reps, plan=planned).run_id


def narrow(new_run, run_id, **narrowed):
    """Make a run one that flags made smaller than its suite."""
    path = new_run(run_id).path / "config.json"
    config = load_run_config(path)
    changed = config.model_copy(update={"narrowed": config.narrowed.model_copy(update=narrowed)})
    path.write_text(changed.model_dump_json())


RULES = GateRules(metrics=("passed_rate",), max_drop=0.0, min_coverage=0.95, prove=False)


def side(run_id="base", asked=None):
    return Side(asked=asked or run_id, run_ids=(run_id,), model=None)


def facts(model_id, **fields):
    base = {
        "model_id": model_id, "run_ids": ("r",), "n_cases": 30, "n_planned": 90, "n_scorable": 90,
        "n_total": 90, "n_reused": 0, "n_scored": 90, "n_passed": 80, "n_timeout": 0,
        "passed_rate": 0.8, "ci95": None, "score_strict": 0.8, "score_upper": 0.8,
        "score_available": 0.8, "coverage": 1.0, "timeout_share": 0.0, "causes": {},
        "served_models": (), "pass_at_k": (), "pass_hat_k": (),
    }  # fmt: skip
    return SideFacts.model_validate(base | fields)


def difference(value=0.0, half=0.1, q=1.0, n_cases=30, **fields):
    """A paired difference with an interval of this half width."""
    base = {
        "test": "sign_flip_mid_p", "n_cases": n_cases, "n_nonzero": 10, "difference": value,
        "base_rate": 0.9, "candidate_rate": min(max(0.9 + value, 0), 1),
        "low": max(value - half, -1), "high": min(value + half, 1), "p": q, "q": q,
        "low90": max(value - 0.84 * half, -1), "high90": min(value + 0.84 * half, 1),
        "detectable": 1.43 * half, "is_borderline": False, "cases_needed": None,
    }  # fmt: skip
    return RateDifference.model_validate(base | fields)


def ratio(value=1.0, half=0.1, q=1.0, metric="e2e_ms", **fields):
    """A paired ratio whose limits are this factor apart from it."""
    base = {
        "metric": metric, "n_cases": 30, "ratio": value, "low": value / (1 + half),
        "high": value * (1 + half), "low90": value / (1 + 0.84 * half),
        "high90": value * (1 + 0.84 * half), "p": q, "q": q, "left_out_base": 0.0,
        "left_out_candidate": 0.0, "totals_ratio": value, "verdict": "inconclusive",
        "reason": None,
    }  # fmt: skip
    return Ratio.model_validate(base | fields)


def group(found=None, model_id="m", verdict="inconclusive", ratios=(), **fields):
    """One model on both sides with a difference."""
    base = {
        "provider": "p", "model": "real", "thinking_level": None, "model_id": model_id,
        "candidate_provider": "p", "candidate_model": "real", "candidate_thinking_level": None,
        "candidate_model_id": model_id, "verdict": verdict, "reasons": (), "warnings": (),
        "base": facts(model_id), "candidate": facts(model_id), "difference": found,
        "ratios": ratios,
    }  # fmt: skip
    return GroupComparison.model_validate(base | fields)


def comparison(*groups, candidate="cand", **fields):
    """A comparison of these models."""
    base = {
        "base": side(), "candidate": side(candidate), "allowed": (), "axes": (), "excluded": (),
        "limits": ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None),
        "unmatched": (), "groups": groups, "overall": None, "tags": (), "cases": (),
    }  # fmt: skip
    return Comparison.model_validate(base | fields)

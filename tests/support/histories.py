"""A history as people have it: clean runs, failures, gaps, no prices, no checks, strange names."""

import random
import shutil

from tests.support.run_builder import DAY_MS

HOSTILE = "bad\x1b[31m\u202emodel"


def capable(new_run, run_id, started_at_ms, n_cases=30, *, cost=0.002, e2e_ms=400, reps=4):
    """A run of two models with tools: one always uses them, one in half of its trials."""
    run = new_run(run_id, started_at_ms)
    dice = random.Random(3)
    for n in range(n_cases * reps):
        case, rep = f"case-{n % n_cases}", 1 + n // n_cases
        for model_id, model, hits in (("good", "acme/good", 1), ("half", "acme/half", 0.5)):
            trial = run.plan(
                case, rep, model_id, provider="openrouter", model=model, expected_tools=("df",),
                thinking_level="low" if model_id == "half" else None,
            )  # fmt: skip
            run.result(
                trial, e2e_ms=e2e_ms + n, cost_usd=cost, cost_source="computed",
                passed=dice.random() < 0.5 + hits / 2,
                tool_use_success=dice.random() < hits, tool_calls=("df",), tool_call_count=1,
            )  # fmt: skip
    run.write()
    return run


def troubled(new_run, run_id, started_at_ms):
    """A run with every kind of trouble: failures, missing trials, costs of some only."""
    failures = (None, "timeout", "http_500", "http_429", "api_key_missing", "empty_response")

    def outcome(trial):
        n = trial.trial_no
        failure = failures[n % len(failures)]
        verdict = {} if failure else {"passed": n == 0, "violation": "3 words, limit 2"}
        cost_usd = 0.01 if n % 3 else None
        return {"failure_type": failure, "cost_usd": cost_usd} | verdict if n < 10 else None

    cases = [f"case-{n}" for n in range(12)]
    return new_run(run_id, started_at_ms).night(cases, outcome, models=("local",))


def unjudged(new_run, run_id, started_at_ms):
    """A run whose cases have nothing to judge by, on a model with a hostile name."""
    cases, plan = [f"free-{n}" for n in range(3)], {"validator_type": None, "model": HOSTILE}
    return new_run(run_id, started_at_ms).night(cases, {"passed": None}, plan=plan)


def imported(runs_dir, run_id="20250101_000000"):
    """A folder of an older tool: results.jsonl with its fields alone."""
    import json

    folder = runs_dir / run_id
    folder.mkdir(parents=True)
    lines = []
    for n in range(4):
        row = {
            "record_type": "result", "run_id": run_id, "provider": "ollama_openai",
            "model": "llama3.2:3b", "thinking_level": None, "prompt_id": f"P{n % 2}",
            "prompt_name": "old prompt", "availability_status": "ok",
            "started_at_ms": 1_735_700_000_000 + n, "ended_at_ms": 1_735_700_000_500 + n,
            "e2e_ms": 500, "ttft_ms": None, "success": True, "failure_type": None,
            "objective_pass": n > 0, "violation": None if n else "not_exact", "input_tokens": None,
            "output_tokens": None, "raw_output": "old answer", "parsed_output": None,
            "tool_calls": [], "tool_call_count": 0, "tool_use_success": False,
        }  # fmt: skip
        lines.append(json.dumps(row) + "\n")
    (folder / "results.jsonl").write_text("".join(lines))
    return folder


def lake_only(run):
    """Mirror a run and take its folder away, as if another machine had made it."""
    run.mirror()
    shutil.rmtree(run.path)


def everything(new_run, start):
    """All of it in one folder of runs; returns the runs by what they are."""
    runs = {
        "clean": capable(new_run, "20251101_080000", start),
        "older": capable(new_run, "20251025_080000", start - 7 * DAY_MS, 4, reps=1),
        "troubled": troubled(new_run, "20251102_090000", start + DAY_MS),
        "unjudged": unjudged(new_run, "20251103_100000", start + 2 * DAY_MS),
    }
    lake_only(capable(new_run, "20251020_elsewhere", start - 12 * DAY_MS, 3, cost=None, reps=1))
    imported(runs["clean"].runs_dir)
    return runs

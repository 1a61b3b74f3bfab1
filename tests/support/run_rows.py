"""Records of a run as tests want them: every field has a value, and any can be another.

A field that nobody names here has the emptiest value that its type allows, so that a new column
is in every run of the tests at once.
"""

import hashlib
from functools import cache
from types import NoneType, UnionType
from typing import Literal, get_args, get_origin

from pydantic import BaseModel

from schemas.config.run_profile import ExecutionPolicy
from schemas.failures import classify
from schemas.run.config import PART_DIGITS, FingerprintParts, PlannedTrial, RunConfig, RunModel
from schemas.run.evaluation import Evaluation
from schemas.run.inventory import Host, Inventory, resource_tags
from schemas.run.judgement import (
    AskedRecord,
    DimensionScores,
    JudgeFailure,
    JudgeIteration,
    Judgement,
    JudgeRunScore,
    Opinion,
)
from schemas.run.preference import PairIteration, PairRunOutcome, Preference
from schemas.run.result import CheckResult, Event, Result
from schemas.run.step import Step

HASH = "a" * 64

REPEATED = (PlannedTrial.model_fields.keys() & Result.model_fields) - {"record_type"}
"""What a result says again of its planned trial."""


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def parts_of(repetition=1, **named):
    """Return the parts of a fingerprint, from a text by the name of each that is not as usual.

    `settings` holds the repetition, as the collector's do.
    """
    texts = {"case": "case", "settings": "s", "endpoint": "e", "harness": "h"} | named
    texts["settings"] = f"{texts['settings']} {repetition}"
    hashes = {name: text and sha(text)[:PART_DIGITS] for name, text in texts.items()}
    return FingerprintParts(**hashes)


def planned(number=0, **fields):
    """Return a planned trial; it has a verdict if its case has a validator that judges."""
    known = {
        "run_id": "r", "suite_id": "s", "model_id": "m", "case_id": f"c{number}", "repetition": 1,
        "trial_no": number, "provider": "ollama_openai", "model": "real-m", "case_hash": HASH,
        "run_fingerprint": HASH, "validator_type": None,
    } | fields  # fmt: skip
    known.setdefault("prompt_id", known["case_id"])
    known.setdefault("is_scorable", known["validator_type"] not in {None, "noop"})
    if "fingerprint_parts" not in known:
        known["fingerprint_parts"] = parts_of(known["repetition"])
    return PlannedTrial(**(blank(PlannedTrial) | known))


def result(trial=None, **fields):
    """Return a trial's result: a pass, or what `failure_type` means by the table of failures."""
    trial = trial or planned(case_id="one", prompt_name="Case one", validator_type="exact")
    meaning = _meaning_of(fields.get("failure_type"))
    is_judged = trial.validator_type not in {None, "noop"}
    if meaning is not None:
        passed = False if meaning.counts_against_model else None
    else:
        passed = fields.get("passed", True if is_judged else None)
    known = {
        "started_at_ms": 1, "ended_at_ms": 2, "e2e_ms": 10, "ttft_ms": 5,
        "availability_status": meaning.availability_status if meaning else "ok",
        "status": meaning.status if meaning else "success", "success": meaning is None,
        "objective_pass": passed if is_judged and meaning is None else None, "passed": passed,
        "input_tokens": 1, "output_tokens": 2, "token_source": "provider", "raw_output": "Hello.",
        "requested_model": trial.model, "http_status": 200, "finish_reason": "stop",
        "attempt_count": 1,
    }  # fmt: skip
    repeated = {name: getattr(trial, name) for name in REPEATED}
    return Result(**(blank(Result) | repeated | known | fields))


def _meaning_of(failure_type):
    """Return what a failure means; one of a later version is its provider's."""
    try:
        return failure_type and classify(failure_type)
    except KeyError:
        return classify("http_599")


def failed(failure_type, **fields):
    """Return the result of a trial that nobody could judge, whatever its failure means."""
    return result(failure_type=failure_type, **({"passed": None} | fields))


def evaluation(of=None, **fields):
    """Return one look at a record: what its checks came to decides, unless a field says it.

    Args:
        of: the result, or the planned trial, that was looked at.
        fields: that are not as usual.
    """
    of = of or planned(case_id="one")
    checks = [check(**one) for one in fields.pop("checks", ())]
    outcomes = [one.outcome for one in checks]
    known = {
        "run_id": of.run_id, "model_id": of.model_id, "case_id": of.case_id,
        "repetition": of.repetition, "result_no": 1, "kind": "check", "evaluated_at_ms": 1,
        "evaluation_profile_id": None, "case_hash": of.case_hash, "is_scorable": True,
        "passed": set(outcomes) == {"passed"} if outcomes else None,
        "checks_passed": outcomes.count("passed"), "checks_failed": outcomes.count("failed"),
        "checks_errored": outcomes.count("error"), "checks": checks, "benchlake_version": "0",
    }  # fmt: skip
    return Evaluation(**(known | fields))


def opinion(overall=7, verdicts=None, **dimensions):
    """Return an opinion; a dimension that no word names has the overall score."""
    scores = dict.fromkeys(DimensionScores.model_fields, overall) | dimensions
    return Opinion.of(overall, scores, verdicts or {})


def judge_iteration(of=None, said=7, **fields):
    """Return one answer of a judge about a record.

    Args:
        of: the result, or the planned trial, that was judged.
        said: the overall score, an opinion, or the failure of the judge.
        fields: that are not as usual.
    """
    of = of or planned(case_id="one")
    failure = said if isinstance(said, str) else None
    found = None if failure else said if isinstance(said, Opinion) else opinion(said)
    known = {
        "run_id": of.run_id, "model_id": of.model_id, "case_id": of.case_id,
        "repetition": of.repetition, "result_no": 1, "evaluated_at_ms": 1,
        "evaluation_profile_id": "strict", "judge_run_id": "main", "judge_id": "judge",
        "iteration": 1, "question_hash": sha("question"), "requested_model": "judge-1",
        "served_model": "judge-1", "failure": failure, "error_message": None, "opinion": found,
        "overall_as_said": None if failure else found.overall, "summary": None if failure else "ok",
        "evidence": {} if failure else {"overall": ["it says so"]}, "n_answers": 1,
        "attempt_count": 1, "input_tokens": 900, "output_tokens": 90, "cost_usd": 0.001,
        "cost_source": "computed", "e2e_ms": 200, "artifact_path": None, "benchlake_version": "0",
    }  # fmt: skip
    return JudgeIteration(**(known | fields))


def judgement(of=None, said=7, threshold=None, **fields):
    """Return what the judges come to on a record; `said` as of `judge_iteration`."""
    of = of or planned(case_id="one")
    failed = isinstance(said, str)
    found = None if failed else said if isinstance(said, Opinion) else opinion(said)
    scores = {} if failed else found.dimensions.known
    run = JudgeRunScore(
        judge_run_id="main", judge_id="judge", n_successful=not failed, n_failed=failed,
        n_used=not failed, opinion=found,
    )  # fmt: skip
    known = {
        "run_id": of.run_id, "model_id": of.model_id, "case_id": of.case_id,
        "repetition": of.repetition, "result_no": 1, "evaluated_at_ms": 2,
        "evaluation_profile_id": "strict", "evaluation_fingerprint": sha("fingerprint"),
        "status": "failed" if failed else "success", "opinion": found,
        "pass_threshold": threshold,
        "passed": None if failed or threshold is None else found.overall >= threshold,
        "failed_dimensions": tuple(
            name for name, score in scores.items() if threshold is not None and score < threshold
        ),
        "soft_score": None, "check_scores": DimensionScores(), "judge_runs": (run,),
        "benchlake_version": "0",
    }  # fmt: skip
    return Judgement(**(known | fields))


def pair_iteration(of=None, said="this", **fields):
    """Return one answer of a judge about two trials; `said`: whom it prefers, or its failure."""
    failure = said if said in get_args(JudgeFailure) else None
    line = judge_iteration(of, said if failure else 7).model_dump()
    known = {name: line[name] for name in AskedRecord.model_fields if name != "record_type"} | {
        "other_run_id": "other", "other_model_id": "m", "other_result_no": 1,
        "pair_order": "this_first", "preferred": None if failure else said,
        "evidence": {} if failure else {"preferred": ["it says so"]},
    }  # fmt: skip
    return PairIteration(**(known | fields))


def preference(of=None, outcome="won", **fields):
    """Return what the judges come to on two trials."""
    of = of or planned(case_id="one")
    run = PairRunOutcome(
        judge_run_id="main", judge_id="judge", n_successful=1, n_failed=0, n_used=1,
        outcome=outcome,
    )  # fmt: skip
    known = {
        "run_id": of.run_id, "model_id": of.model_id, "case_id": of.case_id,
        "repetition": of.repetition, "result_no": 1, "evaluated_at_ms": 2,
        "evaluation_profile_id": "strict", "evaluation_fingerprint": sha("fingerprint"),
        "other_run_id": "other", "other_model_id": "m", "other_result_no": 1,
        "status": "success", "outcome": outcome, "is_identical": False, "n_comparisons": 1,
        "n_flips_to_first": 0, "n_flips_to_second": 0, "answer_chars": 12,
        "other_answer_chars": 7, "judge_runs": (run,), "benchlake_version": "0",
    }  # fmt: skip
    return Preference(**(known | fields))


def check(check_id="c", outcome="passed", **fields):
    return CheckResult(**({"check_id": check_id, "kind": "contains", "outcome": outcome} | fields))


def event(**fields):
    return Event(**({"run_id": "r", "event": "note", "at_ms": 1} | fields))


def trace(run_id, model_id, case_id, repetition, *events, **fields):
    """Return the trace of a trial; events are (event_type, fields)."""
    base = {
        "schema_version": 1, "run_id": run_id, "model_id": model_id, "case_id": case_id,
        "repetition": repetition, "wall_ms": 2_500, "request": {"model": "real-m", "max_tokens": 5},
        "usage": {"prompt_tokens": 7}, "trace": [
            {"sequence": n, "at_ms": 1_000 + 400 * n, "event_type": kind, **rest}
            for n, (kind, rest) in enumerate(events)
        ],
    }  # fmt: skip
    return base | fields


TOOL_EVENTS = (
    ("message", {"role": "user", "content": "How full is the disk?"}),
    ("runner", {"name": "provider_reply", "detail": {
        "e2e_ms": 150, "served_model": "m-1", "cost_usd": 0.001, "cost_source": "computed",
        "usage": {
            "input_tokens": 90, "cached_input_tokens": 40, "cache_write_tokens": 0,
            "output_tokens": 8, "reasoning_tokens": 2, "usage_cached": "inside",
            "usage_counts": "delta",
        },
    }}),
    ("message", {"role": "assistant", "content": "I look.", "name": "reasoning"}),
    ("tool_call", {"call_id": "1", "tool_name": "df", "raw_arguments": '{"path": "/"}'}),
    ("tool_result", {
        "call_id": "1", "status": "error", "output": {"error": "no such path"}, "exit_code": 1,
        "duration_ms": 12, "produced_bytes": 24, "stored_bytes": 24, "shown_bytes": 50,
        "truncated": False, "ended_by": "exit",
    }),
    ("runner", {"name": "retry_scheduled", "detail": {
        "attempt": 1, "failure_type": "http_500", "error_message": "oh", "wait_ms": 80,
    }}),
    ("runner", {"name": "final_answer_forced", "detail": {"turns": 1}}),
    ("runner", {"name": "provider_reply", "detail": {"e2e_ms": 100}}),
    ("message", {"role": "assistant", "content": "It is half full."}),
)  # fmt: skip
"""Of a trial that calls a tool once, which fails: eight steps of every kind but a compaction."""


STEP_OF = ("run_id", "model_id", "case_id", "repetition", "record_no")


def step(of, number=1, **fields):
    """Return a step of a record, as the lake has it; `of` is that row of the table `results`."""
    known = {
        name: of[name] for name in ("run_id", "model_id", "case_id", "repetition", "record_no")
    }
    own = {
        "step_no": number, "attempt": 1, "trajectory": "main", "turn_no": 1, "kind": "message",
        "is_error": False, "is_copied_context": False,
    }  # fmt: skip
    return blank(Step) | known | own | fields


def step_text(of, number=1, text="said"):
    """Return the text of that step."""
    known = {
        name: of[name] for name in ("run_id", "model_id", "case_id", "repetition", "record_no")
    }
    return known | {"step_no": number, "text": text, "text_truncated": False}


def config(trials=(), names=None, /, **fields):
    """Return what a run was asked to do.

    Args:
        trials: its plan.
        names: labels of models, by their ids.
        fields: that do not follow from the plan, or are not as usual.
    """
    by_model = {trial.model_id: trial for trial in trials}
    groups = {name: (t.provider, t.model, t.thinking_level) for name, t in by_model.items()}
    tags = resource_tags(sorted(set(groups.values()), key=repr))
    models = [
        RunModel(
            **blank(RunModel) | {
                "model_id": name, "label": (names or {}).get(name), "provider": provider,
                "model": model, "thinking_level": level, "base_url": "http://127.0.0.1:1",
                "max_concurrency": 1, "resource_tag": tags[provider, model, level],
            }
        )
        for name, (provider, model, level) in groups.items()
    ]  # fmt: skip
    suite_id = trials[0].suite_id if trials else "s"
    known = {
        "run_id": "r", "started_at_ms": 1, "benchlake_version": "0", "suite_id": suite_id,
        "suite_title": suite_id.title(), "suite_path": f"{suite_id}.yaml", "run_profile_id": "p",
        "run_profile_path": "p.yaml", "execution_policy": ExecutionPolicy(), "models": models,
        "n_planned": len(trials) or 1,
    }  # fmt: skip
    return RunConfig(**(blank(RunConfig) | known | fields))


def inventory(**fields):
    """Return what a run was made with: a small machine, and nothing else that is known."""
    known = {"run_id": "r", "created_at": "2026-01-01T00:00:00Z", "host": host()}
    return Inventory(**(blank(Inventory) | known | fields))


def host(**fields):
    known = {"uname": "Linux", "python": "3.11", "cpu_count": 2, "memory_bytes": 2**33}
    return Host(**(known | fields))


@cache
def blank(record):
    """Return the emptiest value of each field that a record must be given."""
    fields = record.model_fields.items()
    return {name: _empty(info.annotation) for name, info in fields if info.is_required()}


def _empty(kind):
    """Return null where a type allows it, else the first literal or nothing: "", 0, ()."""
    if NoneType in get_args(kind):
        return None
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if isinstance(kind, UnionType):
        return _empty(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_construct(**blank(kind))
    return (get_origin(kind) or kind)()


def line_of(record):
    return record.model_dump_json().encode() + b"\n"

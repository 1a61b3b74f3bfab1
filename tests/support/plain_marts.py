"""The eight marts over steps a second time, with plain loops.

Written from docs/steps.md and the contracts' words, not from the SQL that it is held against;
nothing of the project is imported. Rows are dicts, in the marts' order. Slow and simple on purpose.
"""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

from tests.support.plain_errors import error_signatures, tool_errors
from tests.support.plain_trials import (
    REFUSED,
    clusters_of,
    failed,
    in_order,
    known_sum,
    run_places,
    trials_with_steps,
    usd,
)

TIMESTAMPS_END = 253_402_300_800_000


def marts_of(steps, results, plans, runs):
    """Rows of each mart, by its name."""
    trials = trials_with_steps(results, steps, plans)
    return {
        "trajectories": [row for trial in trials for row in trajectories(trial)],
        "contexts": [row for trial in trials for row in contexts(trial)],
        "trial_times": [trial_times(trial) for trial in trials],
        "stops": [stop(trial) for trial in trials],
        "progress": [progress(trial) for trial in trials if trial.calls],
        "loops": [row for trial in trials for row in loops(trial)],
        "tool_errors": tool_errors(trials, clusters_of(plans, runs)),
        "error_signatures": error_signatures(trials, run_places(runs)),
    }


# Trajectories


def trajectories(trial):
    rows = []
    for path, steps in sorted(trial.by_trajectory.items()):
        below = [name for name in trial.by_trajectory if name.startswith(path + "/")]
        fresh = [step for step in steps if not step["is_copied_context"]]
        started = known_min(step["started_at_ms"] for step in fresh)
        row = trial.key | {
            "trajectory": path,
            "parent": path.rpartition("/")[0] or None,
            "n_below": len(below),
            "n_steps": len(steps),
            "n_turns": len({step["turn_no"] for step in fresh if is_models(step)} - {0}),
            "n_calls": sum(step["kind"] == "tool_call" for step in fresh),
            "n_errors": sum(step["kind"] == "tool_result" and step["is_error"] for step in fresh),
            "started_at_ms": started,
            "started_at": timestamp(started),
            "ended_at_ms": known_max(step["ended_at_ms"] for step in fresh),
        }
        for names, suffix in (((path,), ""), ((path, *below), "_with_below")):
            answers = [one["own"] for one in trial.answers if one["trajectory"] in names]
            for name in ("input_tokens", "output_tokens"):
                row[name + suffix] = known_sum(own[name] for own in answers)
            row["cost" + suffix + "_usd"] = usd(known_sum(own["nanos"] for own in answers))
        rows.append(row)
    return rows


def is_models(step):
    """Whether the model itself did it: a part of an answer."""
    return step["role"] == "assistant" or step["kind"] in ("reasoning", "tool_call")


def timestamp(ms):
    """In UTC; None beyond the year 9999."""
    if ms is None or ms >= TIMESTAMPS_END:
        return None
    return datetime(1970, 1, 1) + timedelta(milliseconds=ms)  # noqa: DTZ001 - as the views have it


def known_min(values):
    return min((one for one in values if one is not None), default=None)


def known_max(values):
    return max((one for one in values if one is not None), default=None)


# Contexts


def contexts(trial):
    rows = []
    for path, steps in sorted(trial.by_trajectory.items()):
        fresh = [step for step in steps if not step["is_copied_context"]]
        asked = [
            step["own"]
            for step in trial.answers
            if step["trajectory"] == path and step["own"]["input_tokens"] is not None
        ]
        if not fresh:
            continue
        inputs = [own["input_tokens"] for own in asked]
        cached_usages = [own for own in asked if own["cached_input_tokens"] is not None]
        cached_input = sum(own["input_tokens"] for own in cached_usages)
        results = [step for step in fresh if step["kind"] == "tool_result"]
        shown = [step for step in results if step["shown_bytes"] is not None]
        row = {
            "trajectory": path,
            "n_answers": len(inputs),
            "first_input_tokens": inputs[0] if inputs else None,
            "last_input_tokens": inputs[-1] if inputs else None,
            "peak_input_tokens": max(inputs, default=None),
            "growth_per_answer": None,
            "input_tokens": known_sum(inputs),
            "cached_share": None,
            "n_compactions": sum(step["kind"] == "compaction" for step in fresh),
            "n_results": len(results),
            "n_truncated": sum(step["truncated"] is True for step in results),
            "produced_bytes": known_sum(step["produced_bytes"] for step in shown),
            "shown_bytes": known_sum(step["shown_bytes"] for step in shown),
        }
        pairs = itertools.pairwise(inputs)
        if grown := [now - last for last, now in pairs if now > last]:
            row["growth_per_answer"] = sum(grown) / len(grown)
        if cached_input:
            row["cached_share"] = (
                sum(own["cached_input_tokens"] for own in cached_usages) / cached_input
            )
        rows.append(trial.key | row)
    return rows


# Times


def trial_times(trial):
    record = trial.record
    total = record["ended_at_ms"] - record["started_at_ms"]
    fresh = [step for step in trial.steps if not step["is_copied_context"]]
    first = known_min(step["started_at_ms"] for step in fresh)
    setup = None if first is None else first - record["started_at_ms"]
    tool_ms = record["tool_ms"]
    if tool_ms is None:
        tool_ms = known_sum(one["duration_ms"] for one in fresh if one["kind"] == "tool_result")
    retries = [step for step in fresh if step["kind"] == "error"]
    waits = [one[name] for one in retries for name in ("duration_ms", "wait_ms")]
    answers = [step for step in fresh if step["kind"] == "message"]
    row = {
        "total_ms": total if total >= 0 else None,
        "setup_ms": setup if setup is not None and 0 <= setup <= total else None,
        "model_ms": known_sum(one["duration_ms"] for one in answers),
        "tool_ms": tool_ms,
        "retry_ms": known_sum(waits),
    }
    parts = ("setup_ms", "model_ms", "tool_ms", "retry_ms")
    left = total - sum(row[name] or 0 for name in parts)
    is_known = total >= 0 and row["model_ms"] is not None
    return trial.key | row | {"idle_ms": max(0, left) if is_known else None}


# Stops

PROVIDER = (
    "invalid_response", "stream_interrupted", "connection_error", "api_key_missing",
    "tool_calls_not_supported",
)  # fmt: skip
LIMITS = ("timeout", "max_turns_exceeded", "limit_exceeded")
LENGTHS = ("length", "max_tokens", "model_context_window_exceeded")
ANSWERS = ("output_truncated", "empty_response")


def stop(trial):
    word, detail = why(trial)
    return trial.key | {
        "n_steps": len(trial.steps),
        "stop": word,
        "stop_detail": detail,
        "passed": trial.record["passed"],
    }


def why(trial):
    record = trial.record
    failure, reason = record["failure_type"], record["finish_reason"]
    if not record["success"] and failure is None:
        return "harness", "unknown"
    if failure == "timeout" and record["passed"] is None and trial.is_scorable:
        return "provider", failure  # the endpoint had not taken the request
    if failure is not None and (failure in PROVIDER or failure.startswith("http_")):
        return "provider", failure
    if failure is not None and failure not in LIMITS and failure not in ANSWERS:
        return "harness", failure
    main = [s for s in trial.steps if s["trajectory"] == "main" and not s["is_copied_context"]]
    limits = [step["error_class"] for step in main if step["kind"] == "limit"]
    if limits or failure in LIMITS:
        return "limit", (limits and limits[-1]) or failure
    if reason in ("refusal", "content_filter"):
        return "refusal", reason
    if failure == "output_truncated" or reason in LENGTHS:
        return "length", failure or reason
    if failure == "empty_response":
        return "empty", failure
    if record["passed"] is None and record["checks_errored"]:
        return "verifier", "checks_errored"
    calls = [call for call in trial.calls if call["trajectory"] == "main"]
    if calls and failed(calls[-1]) and record["passed"] is not True:
        return "gave_up", calls[-1]["result"]["error_class"]
    return "finished", None


# Progress


def identity(call):
    """What a call is the same as another one by: tool, arguments, result."""
    result = call["result"]
    return call["tool"], call["args_hash"], result and result["result_norm_hash"]


def asked_for(call):
    return call["tool"], call["args_hash"]


def progress(trial):
    calls = trial.calls
    answered = sorted(
        (call for call in calls if call["result"] is not None),
        key=lambda call: call["result"]["step_no"],
    )
    ends = [(call, call["result"]["step_no"]) for call in answered]
    done = [(call, end) for call, end in ends if not failed(call)]
    first_error, recovered = next(((end, call) for call, end in ends if failed(call)), (None, None))
    if recovered is not None:
        others = [one for one in done if asked_for(one[0]) != asked_for(recovered)]
        recovered = known_min(end for call, end in others if call["step_no"] > first_error)
    seen, last_progress = set(), None
    for call, end in done:
        if identity(call) not in seen:
            last_progress = end
        seen.add(identity(call))
    changes = [(call, end) for call, end in done if call["effect"] == "write"]
    last_change = known_max(end for _, end in changes)
    touched = {}
    for call in calls:
        is_touch = call["effect"] in ("read", "write") and failed(call) is False
        if call["target_hash"] is not None and is_touch:
            touched.setdefault(call["target_hash"], call["effect"])
    files = {call["target_hash"] for call, _ in changes} - {None}
    row = {
        "n_calls": len(calls),
        "n_errors": sum(failed(call) is True for call in calls),
        "first_error_step_no": first_error,
        "recovered_step_no": recovered,
        "last_progress_step_no": last_progress,
        "n_calls_after_progress": n_after(calls, last_progress or 0),
        "n_changes": len(changes),
        "last_change_step_no": last_change,
        "n_changed_files": len(files),
        "n_unread_files": sum(touched[name] == "write" for name in files),
        "n_calls_after_change": None,
        "is_checked_after_change": None,
        "tokens_after_change_share": None,
        "cost_after_change_share": None,
        "cost_after_change_usd": None,
    }
    if last_change is not None:
        row["n_calls_after_change"] = n_after(calls, last_change)
        row["is_checked_after_change"] = any(
            call["effect"] == "check" and call["step_no"] > last_change for call in answered
        )
        row |= spent_after(trial.answers, last_change)
    return trial.key | row


def n_after(calls, step_no):
    return sum(call["step_no"] > step_no for call in calls)


def spent_after(answers, step_no):
    """Shares and cost of the answers after a step."""
    after = [one["own"] for one in answers if one["step_no"] > step_no]
    everything = [one["own"] for one in answers]

    def tokens(owns):
        return sum((own["input_tokens"] or 0) + (own["output_tokens"] or 0) for own in owns)

    cost, of_all = (known_sum(own["nanos"] for own in owns) for owns in (after, everything))
    return {
        "tokens_after_change_share": tokens(after) / tokens(everything)
        if tokens(everything)
        else None,
        "cost_after_change_share": (cost or 0) / of_all if of_all else None,
        "cost_after_change_usd": usd(0 if not after and of_all is not None else cost),
    }


# Loops

LEAST_ROUNDS = {1: 3, 2: 2, 3: 3}


def loops(trial):
    rows = []
    for path in trial.by_trajectory:
        stretch = []
        for call in [call for call in trial.calls if call["trajectory"] == path]:
            if call["effect"] == "wait":
                continue
            if call["result"] is not None and call["result"]["error_class"] in REFUSED:
                continue
            if call["result"] is None:
                rows += loops_in(trial, stretch)
                stretch = []
            else:
                stretch.append(call)
        rows += loops_in(trial, stretch)
    return in_order(rows, "first_step_no", "trajectory", "period")


def loops_in(trial, calls):
    """Loops among calls of one trajectory that have results; what is not known is not the same."""
    names = [
        place if None in identity(call) else identity(call) for place, call in enumerate(calls)
    ]
    found = []
    for period, least in LEAST_ROUNDS.items():
        first = 0
        while first < len(names):
            last = first + period - 1  # the cycle holds from first to here
            while last + 1 < len(names) and names[last + 1] == names[last + 1 - period]:
                last += 1
            cycle, n_calls = names[first : first + period], last - first + 1
            if n_calls >= least * period and (period == 1 or len(set(cycle)) > 1):
                found.append(loop(trial, calls[first : last + 1], period))
            first = max(first + 1, last + 2 - period)
    return found


def loop(trial, calls, period):
    turns = {call["turn_no"] for call in calls}
    path = calls[0]["trajectory"]
    said = [one for one in trial.answers if one["kind"] == "message" and one["trajectory"] == path]
    answers = [one for one in said if one["turn_no"] in turns]
    return trial.key | {
        "trajectory": path,
        "first_step_no": calls[0]["step_no"],
        "last_step_no": max(call["result"]["step_no"] for call in calls),
        "tool": calls[0]["tool"],
        "period": period,
        "n_rounds": len(calls) // period,
        "n_calls": len(calls),
        "tool_ms": known_sum(call["result"]["duration_ms"] for call in calls),
        "model_ms": known_sum(answer["duration_ms"] for answer in answers),
        "input_tokens": known_sum(answer["own"]["input_tokens"] for answer in answers),
        "output_tokens": known_sum(answer["own"]["output_tokens"] for answer in answers),
        "cost_usd": usd(known_sum(answer["own"]["nanos"] for answer in answers)),
    }

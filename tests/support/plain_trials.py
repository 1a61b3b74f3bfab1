"""What the marts over steps stand on, a second time: trials, own usage, calls with their results.

Written from docs/steps.md and the contracts' words with plain loops, not from the SQL that it is
held against; nothing of the project is imported.
"""

from __future__ import annotations

from collections import defaultdict
from math import floor

TRIAL = (
    "run_id", "provider", "model", "thinking_level", "model_id", "suite_id", "case_id",
    "repetition", "record_no",
)  # fmt: skip
MODEL = TRIAL[:5]
REFUSED = ("rate_limited", "unavailable")
PLANNED = ("run_id", "model_id", "case_id", "repetition")
COUNTED = (
    "input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
    "reasoning_tokens", "nanos",
)  # fmt: skip
"""What may be counted along a trajectory."""


def known_sum(values):
    """The sum of what is known; None where nothing is."""
    known = [one for one in values if one is not None]
    return sum(known) if known else None


def usd(nanos):
    return None if nanos is None else nanos / 1e9


def nulls_first(value):
    return (value is not None, value) if value is not None else (False, "")


def in_order(rows, *names, descending=()):
    """Rows by columns, nulls first."""

    def key(row):
        return [
            (False, -row[name]) if name in descending else nulls_first(row[name]) for name in names
        ]

    return sorted(rows, key=key)


def trials_of(results):
    """By run and record: the records that no later one supersedes."""
    gone = {(row["run_id"], row["supersedes"]) for row in results}
    return {
        (row["run_id"], row["record_no"]): row
        for row in results
        if (row["run_id"], row["record_no"]) not in gone
    }


def run_places(runs):
    """By run: what it is sorted by among all runs; one without a start comes before the others."""
    newest = {}
    for row in sorted(runs, key=lambda row: row["recorded_at_ms"]):
        newest[row["run_id"]] = row["started_at_ms"]
    return {run_id: (*nulls_first(at), run_id) for run_id, at in newest.items()}


def run_place(places, run_id):
    return places.get(run_id, (False, "", run_id))


def clusters_of(plans, runs):
    """By suite and case: the cluster that the newest run that planned it gave it."""
    places, found = run_places(runs), {}
    for row in plans:
        key, place = (row["suite_id"], row["case_id"]), run_place(places, row["run_id"])
        if key not in found or found[key][0] < place:
            found[key] = (place, row["cluster"])
        elif found[key][0] == place and row["cluster"] is not None:
            found[key] = (place, max(row["cluster"], found[key][1] or ""))
    return {key: cluster for key, (_, cluster) in found.items() if cluster is not None}


class Trial:
    """The record that counts of a trial, and its steps with usage of their own."""

    def __init__(self, record, steps, is_scorable):
        self.record, self.is_scorable = record, is_scorable
        self.key = {name: record[name] for name in TRIAL}
        self.steps = sorted(steps, key=lambda step: step["step_no"])
        self.by_trajectory = defaultdict(list)
        for step in self.steps:
            self.by_trajectory[step["trajectory"]].append(step)
        for own in self.by_trajectory.values():
            with_own_usage(own)
        self.answers = [step for step in self.steps if is_answer(step)]
        self.calls = [call for own in self.by_trajectory.values() for call in calls_of(own)]
        self.calls.sort(key=lambda call: call["step_no"])


def trials_with_steps(results, steps, plans):
    """Trials that have steps, in the marts' order."""
    of_record = defaultdict(list)
    for step in steps:
        of_record[step["run_id"], step["record_no"]].append(dict(step))
    scorable = {tuple(row[name] for name in PLANNED) for row in plans if row["is_scorable"]}
    records = in_order(trials_of(results).values(), *MODEL, "case_id", "repetition")
    return [
        Trial(row, of_record[key], tuple(row[name] for name in PLANNED) in scorable)
        for row in records
        if (key := (row["run_id"], row["record_no"])) in of_record
        and row["reused_from_run_id"] is None
    ]


def with_own_usage(steps):
    """Give each step of a trajectory `own`: the tokens and the cost of that answer alone."""
    before, last = {}, {}
    for step in steps:
        cost = step["cost_usd"]
        counted = dict(step, nanos=None if cost is None else floor(cost * 1e9 + 0.5))
        own = {name: counted[name] for name in COUNTED}
        if step["usage_counts"] == "cumulative":
            said = {name: counted[name] for name in COUNTED if counted[name] is not None}
            if any(now < last.get(name, 0) for name, now in said.items()):
                before = {}
            own |= {name: now - before.get(name, 0) for name, now in said.items()}
            before |= said
            last |= said
        if step["usage_cached"] == "beside" and own["input_tokens"] is not None:
            for name in ("cached_input_tokens", "cache_write_tokens"):
                own["input_tokens"] += own[name] or 0
        if step["is_copied_context"]:
            own = dict.fromkeys(COUNTED)
        step["own"] = own


def is_answer(step):
    """A message of the model, of which tokens or time are known, or a request that was counted."""
    if step["is_copied_context"]:
        return False
    counts = [step["own"][name] for name in ("input_tokens", "output_tokens", "nanos")]
    if step["kind"] == "message":
        counts.append(step["duration_ms"])
    return step["kind"] in ("message", "error") and known_sum(counts) is not None


def calls_of(steps):
    """Calls of one trajectory, each with the result that it had as `result`, or None."""
    calls, by_id = [], {}
    at = {step["step_no"]: step for step in steps if not step["is_copied_context"]}
    for step in at.values():
        if step["kind"] == "tool_call":
            call = dict(step, result=None)
            calls.append(call)
            if call["call_id"] is not None:
                by_id[call["call_id"]] = call
            elif is_nameless_result(at.get(step["step_no"] + 1)):
                call["result"] = at[step["step_no"] + 1]
        elif step["kind"] == "tool_result" and step["call_id"] in by_id:
            call = by_id[step["call_id"]]
            call["result"] = call["result"] or step
    return calls


def is_nameless_result(step):
    return step is not None and step["kind"] == "tool_result" and step["call_id"] is None


def failed(call):
    """Whether the result of a call is an error; None without a result."""
    return None if call["result"] is None else call["result"]["is_error"]

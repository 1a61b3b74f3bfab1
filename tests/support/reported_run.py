"""A suite's nights with something for every section of a report, and the page about the last."""

import random

from tests.support.analyze_cli import call
from tests.support.run_builder import RunBuilder, routed
from tests.support.run_rows import trace

MODELS = {"steady": 0.95, "falling": 0.85, "cheap": 0.5}
FAILURES = (None,) * 9 + ("http_500", "timeout", "empty_response")
N_CASES = 12
N_REPETITIONS = 3
N_NIGHTS = 5
N_TURNS = 200

LONG = ("falling", "case-00", 1)
"""The trial that needed a lot of turns; two tool calls of it went wrong."""

NEEDLE = "Zebrafinch"
"""A word of that trial's 120th turn, and of nothing else."""


def report_page(folder):
    """Write the nights and the report of the last of them, and return its path."""
    runs_dir = folder / "runs"
    for night in range(1, N_NIGHTS + 1):
        write_night(runs_dir, night)
    done = call("report", runs_dir, "-o", folder / "report.html")
    assert done.code == 0, done.err
    return folder / "report.html"


def write_night(runs_dir, night):
    """Write one run; in the last one a model fell, and traces are there of the last two."""
    run = RunBuilder(runs_dir, f"night-{night}", day=night)
    dice = random.Random(night)

    def outcome(trial):
        model_id, case_id, repetition = key = trial.model_id, trial.case_id, trial.repetition
        chance = 0.1 if (model_id, night) == ("falling", N_NIGHTS) else MODELS[model_id]
        failure = None if key == LONG else FAILURES[dice.randrange(len(FAILURES))]
        passed = dice.random() < chance and key != LONG
        place = int(case_id.removeprefix("case-"))
        answer = f"The disk of host {place} is {'nearly ' if passed else ''}full: {90 + place} %."
        reference = None
        if night >= N_NIGHTS - 1:
            turns = N_TURNS if (key, night) == (LONG, N_NIGHTS) else 4
            one = trace(run.run_id, model_id, case_id, repetition, *events(turns, answer))
            (reference,) = run.write_traces(one)
        used = {"passed": passed, "tool_use_success": passed, "tool_call_count": 1}
        return {
            "failure_type": failure, "raw_output": answer, "artifact_path": reference,
            "e2e_ms": dice.randrange(200, 4_000), "ttft_ms": dice.randrange(20, 200),
            "cost_usd": 0.001 * (1 + len(model_id)), "cost_source": "computed",
        } | ({} if failure else used)  # fmt: skip

    run.night(
        [f"case-{place:02d}" for place in range(N_CASES)], outcome, models=routed(*MODELS),
        repetitions=N_REPETITIONS, plan={"expected_tools": ("df",)},
    )  # fmt: skip


def events(n_turns, answer):
    """Yield turns of a conversation with a tool; of a long one, two went wrong."""
    yield "message", {"role": "user", "content": "How full is the disk?"}
    for turn in range(1, n_turns - 2, 2):
        call_id, is_error = f"call-{turn}", turn in {51, 151}
        arguments = f'{{"path": "/srv/{turn}"}}'
        yield "tool_call", {"call_id": call_id, "tool_name": "df", "raw_arguments": arguments}
        output = f"{NEEDLE if turn == 119 else 'Filesystem'} {turn} 97%"
        status = "error" if is_error else "success"
        yield "tool_result", {"call_id": call_id, "status": status, "output": output}
    yield "final_output", {"content": answer}

"""The embedded model as its own judge: poor, and real; what does not fit is counted and shown."""

import json
import subprocess
import sys

import pytest

from tests.support.judged_run import SUITE, Judged
from tests.support.kept_run import collect_log
from tests.support.processes import servers_of

pytestmark = pytest.mark.agents

COLLECT = [sys.executable, "-P", "-m", "collect"]


def test_a_small_model_judges_itself_and_its_failures_are_its_own(weights, project):
    """One judge has room for an answer, the other is cut off: a failure of that judge's alone."""
    project.suite(models=[{"model_id": "small", "provider": "embedded"}])
    # at 0 it answers the same each time, and in time: what is cut off leaves nothing to judge
    project.profile(runner_defaults={"max_tokens": 400, "temperature": 0})
    project.case("greet", rubric={"scoring_instructions": "A greeting is a 9."})
    judge = {"type": "llm_probe", "provider": "embedded", "timeout_seconds": 600, "retries": 0}
    project.write("configs/evaluation_profiles/own.yaml", {
        "schema_version": 1, "evaluation_profile_id": "own", "title": "Its own judge",
        "judges": [judge | {"judge_id": "whole", "max_tokens": 1_200},
                   judge | {"judge_id": "cut", "max_tokens": 20}],
        "judge_runs": [{"judge_run_id": "one", "judge_id": "whole"},
                       {"judge_run_id": "two", "judge_id": "cut"}],
        "aggregation": {"pass_threshold": 5},
    })  # fmt: skip

    done = subprocess.run(
        [*COLLECT, "run", "--suite", "s", "--run-profile", "p", "--evaluation-profile", "own",
         "--run-id", "r"],
        cwd=project.root, capture_output=True, text=True, timeout=230, check=False,
    )  # fmt: skip

    lines = (project.root / "runs/r/evaluations.jsonl").read_text().splitlines()
    *answers, found = map(json.loads, lines)
    by_judge = {one["judge_id"]: one for one in answers}
    assert found["record_type"] == "judgement"
    assert by_judge["cut"]["failure"] == "truncated"
    assert by_judge["cut"]["opinion"] is None
    assert by_judge["cut"]["output_tokens"] == 20
    whole = by_judge["whole"]
    assert whole["failure"] in {None, "invalid", "truncated"}
    assert whole["input_tokens"] > 500
    assert (found["status"] == "success") == (whole["failure"] is None)
    assert done.returncode == (0 if found["status"] == "success" else 1), done.stderr
    assert "judge cut: 1 question, 0 answered, 1 truncated" in done.stdout
    assert servers_of(project.root) == []


def test_a_small_model_says_which_of_two_answers_is_better(weights, project, endpoint):
    """Two answers that are given, asked about in both orders; what does not fit is counted."""
    judged = Judged(project, endpoint)
    judge = {"judge_id": "whole", "type": "llm_probe", "provider": "embedded", "retries": 0,
             "timeout_seconds": 600, "max_tokens": 600}  # fmt: skip
    judged.profile("own", judges=[judge], runs=[{"judge_run_id": "one", "judge_id": "whole"}])
    judged.model.answer = "Good morning to you! It is a pleasure to meet you."
    judged.run()
    judged.model.answer = "No."
    other = collect_log(project.root, "run", *SUITE, "--run-id", "other")
    assert other.returncode == 0, other.stderr

    done = subprocess.run(
        [*COLLECT, "evaluate", "r", "--evaluation-profile", "own", "--against", "other"],
        cwd=project.root, capture_output=True, text=True, timeout=230, check=False,
    )  # fmt: skip

    *answers, found = judged.lines()
    assert found["record_type"] == "preference"
    assert {one["pair_order"] for one in answers} == {"this_first", "other_first"}
    assert all(one["input_tokens"] > 300 for one in answers)
    n_answered = sum(one["failure"] is None for one in answers)
    assert f"judge whole: 2 questions, {n_answered} answered" in done.stdout
    assert (found["status"] == "success") == (n_answered == 2)
    assert done.returncode == (0 if n_answered == 2 else 1), done.stderr
    assert servers_of(project.root) == []

"""The embedded model as its own judge: poor, and real; what does not fit is counted and shown."""

import json
import subprocess
import sys

import pytest

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

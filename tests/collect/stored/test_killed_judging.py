"""`collect evaluate` killed at any moment: no answer of a judge is lost, or asked for twice."""

import json
import random

import pytest

from tests.support.judge_endpoint import judgement
from tests.support.judged_run import SUITE, Judged
from tests.support.kept_run import begin, collect_log, wait_for

pytestmark = pytest.mark.peers

N_KILLS = 20
AT_ONCE = 4

PREFERS = json.dumps({"summary": "so", "evidence": [], "preferred": "first"})


@pytest.fixture
def judged(project, endpoint):
    made = Judged(project, endpoint)
    made.model.seconds = 0.02
    made.profile(
        judge={"max_concurrency": AT_ONCE},
        runs=[{"judge_run_id": "once", "judge_id": "main", "repetitions": 5}],
    )
    return made


def kill_again_and_again(judged, *words):
    """Kill it after some more answers, twenty times; then let it end."""
    rng, written = random.Random(20), []
    named = ("evaluate", "r", "--evaluation-profile", "strict", *words)
    for _ in range(N_KILLS):
        n_wanted = len(judged.model.questions) + rng.randrange(1, 8)
        running = begin(judged.project.root, *named)
        wait_for(lambda n=n_wanted: len(judged.model.questions) >= n)
        running.kill()
        running.communicate()
        kept = whole_lines(judged.dir / "evaluations.jsonl")
        assert kept[: len(written)] == written
        written = kept
    judged.evaluate(*words)


def whole_lines(path):
    return [one for one in path.read_bytes().split(b"\n")[:-1] if one] if path.exists() else []


def test_scores(judged):
    judged.run(n_cases=40)

    kill_again_and_again(judged)

    answers = [(one["case_id"], one["iteration"]) for one in judged.lines("judge_iteration")]
    assert len(answers) == len(set(answers)) == 200
    assert len(judged.lines("judgement")) == 40
    assert_all_are_paid_once(judged, "judge_iteration", 200, judgement())


def test_pairs(judged):
    judged.run(n_cases=20)
    judged.model.answer = "Another answer."
    other = collect_log(judged.project.root, "run", *SUITE, "--run-id", "other")
    assert other.returncode == 0, other.stderr
    judged.model.says = lambda body, n: PREFERS

    kill_again_and_again(judged, "--against", "other")

    answers = [
        (one["case_id"], one["iteration"], one["pair_order"])
        for one in judged.lines("pair_iteration")
    ]
    assert len(answers) == len(set(answers)) == 200
    assert {one["outcome"] for one in judged.lines("preference")} == {"tied"}
    assert len(judged.lines("preference")) == 20
    assert_all_are_paid_once(judged, "pair_iteration", 200, PREFERS)


def assert_all_are_paid_once(judged, kind, n, answer):
    assert n <= len(judged.model.questions) <= n + AT_ONCE * N_KILLS, "but for those on their way"
    for one in judged.lines(kind):
        (exchange,) = judged.judge_record(one)["exchanges"]
        assert exchange["answer"] == answer

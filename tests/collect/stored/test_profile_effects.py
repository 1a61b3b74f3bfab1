"""Every option of an evaluation profile, at the wire or in what it decides."""

import threading
import time

import pytest

from tests.support.endpoint import whole
from tests.support.judge_endpoint import JudgedModel, judgement
from tests.support.judged_run import RUBRIC, Judged
from tests.support.kept_run import collect

pytestmark = pytest.mark.peers


@pytest.fixture
def judged(project, endpoint):
    return Judged(project, endpoint)


def question(judged):
    (found,) = judged.model.questions
    return found


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        ({"model": "other"}, {"model": "other"}),
        ({"request_options": {"top_p": 0.5}}, {"top_p": 0.5}),
        ({"seed": 7}, {"seed": 7}),
        ({"request_options": {"temperature": 0.7}}, {"temperature": 0.7}),
        ({}, {"temperature": 0.0, "max_tokens": 4000, "model": "judge-1"}),
        ({"max_tokens": 99}, {"max_tokens": 99}),
        ({"request_options": {"max_completion_tokens": 9}}, {"max_completion_tokens": 9}),
    ],
)
def test_a_field_of_a_judge_is_in_its_request(judged, judge, expected):
    judged.profile(judge=judge)
    judged.run()
    judged.evaluate()

    body = question(judged)
    assert {name: body.get(name) for name in expected} == expected
    assert not body.get("stream")
    assert not ("max_completion_tokens" in body and "max_tokens" in body)


def test_a_judge_without_a_model_is_asked_by_its_id(judged):
    judged.profile(judge={"model": None})
    judged.run()
    judged.evaluate()

    assert question(judged)["model"] == "main"


def test_a_provider_decides_how_it_is_asked(judged):
    judged.profile(judge={"provider": "openai_responses"})
    judged.run()
    lines = []

    def script(wire, request):
        lines.append(request.line)
        content = [{"type": "output_text", "text": judgement()}]
        message = {"type": "message", "role": "assistant", "content": content}
        wire.answer({"id": "r", "status": "completed", "output": [message]})

    judged.endpoint.script = script
    judged.evaluate()

    assert lines == ["POST /v1/responses HTTP/1.1"]


def test_a_key_of_its_own_is_sent(judged):
    judged.profile(judge={"api_key_env": "JUDGE_API_KEY"})
    judged.run()

    judged.evaluate(env={"JUDGE_API_KEY": "sk-judge-0123456789"})

    asked = [one for one in judged.endpoint.requests if "response_format" in (one.body or {})]
    assert asked[0].headers["authorization"] == "Bearer sk-judge-0123456789"


def test_so_many_are_asked_at_once(judged):
    at_once, most, lock = [0], [0], threading.Lock()

    def says(_body, _n):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.1)
        with lock:
            at_once[0] -= 1
        return judgement()

    judged.model.says = says
    judged.profile(judge={"max_concurrency": 2})
    judged.run(n_cases=6)
    judged.evaluate()

    assert most == [2]


def test_an_answer_has_a_time_limit(judged):
    judged.model.seconds = 15.0
    judged.profile(judge={"timeout_seconds": 0.3, "retries": 0})
    judged.run()
    began = time.monotonic()

    judged.evaluate(code=1)

    assert time.monotonic() - began < 12
    assert judged.lines("judge_iteration")[0]["failure"] == "judge_down"


@pytest.mark.parametrize("retries", [0, 2])
def test_a_request_that_failed_is_repeated_so_often(judged, retries):
    judged.model.says = lambda body, n: (503, "later") if n < 2 else judgement()
    judged.profile(judge={"retries": retries})
    judged.run()

    judged.evaluate(code=0 if retries else 1)

    (answer,) = judged.lines("judge_iteration")
    assert answer["attempt_count"] == retries + 1
    assert (answer["failure"] is None) == bool(retries)


def test_repetitions_and_their_sample(judged):
    judged.model.says = lambda body, n: judgement(2 + n)
    run = {"judge_run_id": "thrice", "judge_id": "main", "repetitions": 3, "sample_size": 2}
    judged.profile(runs=[run], judge={"max_concurrency": 1}, aggregation={"method": "mean"})
    judged.run()
    judged.evaluate()

    (found,) = judged.lines("judgement")
    assert len(judged.model.questions) == 3
    assert found["opinion"]["overall"] == 2.5
    (of_run,) = found["judge_runs"]
    assert (of_run["judge_run_id"], of_run["n_successful"], of_run["n_used"]) == ("thrice", 3, 2)


@pytest.mark.parametrize(
    ("aggregation", "overall", "passed"),
    [
        ({"method": "median"}, 4, None),
        ({"method": "mean"}, 5, None),
        ({"method": "majority_vote", "pass_threshold": 4}, 6.5, True),
        ({"method": "all_pass", "pass_threshold": 3}, 2, False),
        ({"method": "median", "pass_threshold": 0.4}, 4, True),
        ({"method": "median", "pass_threshold": 4.5}, 4, False),
    ],
)
def test_answers_combine_as_the_profile_says(judged, aggregation, overall, passed):
    judged.model.says = lambda body, n: judgement((2, 9, 4)[n])
    run = {"judge_run_id": "thrice", "judge_id": "main", "repetitions": 3}
    judged.profile(runs=[run], aggregation=aggregation)
    judged.run()
    judged.evaluate()

    (found,) = judged.lines("judgement")
    assert (found["opinion"]["overall"], found["passed"]) == (overall, passed)


@pytest.mark.parametrize("enabled", [True, False])
def test_anchors_are_shown_where_they_are_enabled(judged, enabled):
    reference = {"anchor_id": "nine", "label": "A nine", "text": "Good morning to you."}
    judged.profile(anchors={"enabled": enabled, "references": [reference]})
    judged.run()
    judged.evaluate()

    text = question(judged)["messages"][1]["content"]
    assert ("- A nine: Good morning to you." in text) == enabled


@pytest.mark.parametrize("way", ["judge_system_prompt", "judge_system_prompt_path"])
def test_the_system_prompt_is_that_of_the_profile(judged, way):
    (judged.project.root / "configs" / "evaluation_profiles").mkdir(exist_ok=True)
    (judged.project.root / "configs/evaluation_profiles/kind.md").write_text("You judge kindly.")
    judged.profile(**{way: "You judge kindly." if way == "judge_system_prompt" else "kind.md"})
    judged.run()
    judged.evaluate()

    assert question(judged)["messages"][0] == {"role": "system", "content": "You judge kindly."}


@pytest.mark.parametrize("redacts", [True, False])
def test_secrets_of_a_judge_go_where_the_policy_says_so(judged, redacts):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    judged.model.says = lambda body, n: judgement().replace("fine", f"It said {secret}.")
    judged.profile(security_policy={"redact_secrets": redacts})
    judged.run()
    judged.evaluate()

    (answer,) = judged.lines("judge_iteration")
    assert (secret in answer["summary"]) == (not redacts)
    assert (secret in str(judged.judge_record(answer))) == (not redacts)


SCALE = {"scale": {"min": 1, "max": 5, "anchors": {"5": "Faultless."}}}


def test_a_scale_of_its_own_is_shown_and_rescaled(judged):
    judged.model.says = lambda body, n: judgement(4)
    judged.run(rubric=RUBRIC | SCALE | {"scoring_instructions": "Be strict."})
    judged.evaluate()

    text = question(judged)["messages"][1]["content"]
    assert "Scores are from 1 to 5.\n- 5: Faultless." in text
    assert "- Manners. Good: Greets. Bad: Does not.\n\nBe strict." in text
    (answer,) = judged.lines("judge_iteration")
    assert (answer["overall_as_said"], answer["opinion"]["overall"]) == (4, 7.5)
    assert judged.lines("judgement")[0]["passed"] is True, "7.5 of 10, with a threshold of 7"


def test_expectations_are_shown_with_their_weights(judged):
    verdicts = {"hard-1": "met", "soft-1": "partly"}
    judged.model.says = lambda body, n: judgement(verdicts=verdicts)
    judged.run(expectations={
        "hard_expectations": [{"text": "It greets.", "weight": 2}],
        "soft_expectations": [{"text": "It is short.", "weight": 0.5}],
    })  # fmt: skip
    judged.evaluate()

    text = question(judged)["messages"][1]["content"]
    assert "- hard-1 (weight 2): It greets." in text
    assert "- soft-1 (weight 0.5): It is short." in text
    (found,) = judged.lines("judgement")
    assert {one["expectation"]: one["verdict"] for one in found["opinion"]["verdicts"]} == verdicts
    assert found["soft_score"] == 0.5


def test_an_answer_cut_off_is_no_invalid_one(judged):
    cut = whole(judgement()[:40])
    cut["choices"][0]["finish_reason"] = "length"
    judged.model = judged.endpoint.script = JudgedModel(lambda body, n: cut)
    judged.run()

    report = judged.report(code=1)

    assert report["judging"]["judges"]["main"]["failures"] == {"truncated": 1}


def test_another_version_of_a_rubric_is_refused(judged):
    judged.project.case("c0", rubric=RUBRIC | {"version": 2})

    done = collect(judged.project.root, "validate")

    assert done.returncode == 2
    assert "`rubric.version`: must be the integer 1" in done.stderr + done.stdout

"""`collect evaluate`: stored answers judged as the profile says, each question paid for once."""

import json
import os
import subprocess
import sys

import pytest

from collect.judges.answer import DIMENSIONS
from tests.support.judge_endpoint import judgement
from tests.support.judged_run import RUBRIC, SUITE, Judged
from tests.support.kept_run import Kept, collect_log

EXPECTED = {
    "hard_expectations": [{"text": "It greets."}],
    "soft_expectations": [{"text": "It is short.", "weight": 3}, {"text": "It rhymes."}],
}
VERDICTS = {"hard-1": "met", "soft-1": "met", "soft-2": "missed"}


@pytest.fixture
def judged(project, endpoint):
    return Judged(project, endpoint)


def test_a_stored_answer_is_judged_and_no_model_is_asked_again(judged):
    judged.model.says = lambda body, n: judgement(8, spark=3, verdicts=VERDICTS)
    judged.run(expectations=EXPECTED)
    asked, before = len(judged.endpoint.requests), (judged.dir / "results.jsonl").read_bytes()

    report = judged.report()

    assert len(judged.endpoint.requests) == asked + 1
    assert (judged.dir / "results.jsonl").read_bytes() == before
    answer, found = judged.lines()
    assert (answer["record_type"], found["record_type"]) == ("judge_iteration", "judgement")
    assert (answer["kind"], found["kind"], found["result_no"]) == ("judge", "judge", 2)
    assert json.loads(before.splitlines()[1])["record_type"] == "result"
    assert found["opinion"]["overall"] == 8
    assert found["opinion"]["dimensions"] == dict.fromkeys(DIMENSIONS, 8) | {"spark": 3}
    assert (found["passed"], found["failed_dimensions"]) == (True, ["spark"])
    assert found["soft_score"] == 0.75
    assert (answer["input_tokens"], answer["output_tokens"]) == (900, 90)
    assert answer["e2e_ms"] is not None
    assert report["judging"]["verdicts"] == {"passed": 1, "failed": 0}
    assert (report["judging"]["n_judged"], report["exit_code"]) == (1, 0)


def test_prompt_and_raw_answer_are_kept(judged):
    judged.run()
    judged.evaluate()

    (answer,) = judged.lines("judge_iteration")
    assert answer["artifact_path"].startswith("artifacts/judge.main.jsonl.zst#")
    (exchange,) = judged.judge_record(answer)["exchanges"]
    (question,) = judged.model.questions
    assert exchange["messages"] == question["messages"]
    assert exchange["answer"] == judgement()
    assert "Say c0." in exchange["messages"][1]["content"]
    assert "Hello there." in exchange["messages"][1]["content"]
    assert "real-m" not in str(exchange["messages"])


def test_a_second_time_asks_nothing_and_writes_nothing(judged):
    judged.run(n_cases=3)
    judged.evaluate()
    before, asked = judged.lines(), len(judged.model.questions)
    assert asked == 3

    report = judged.report()

    assert (judged.lines(), len(judged.model.questions)) == (before, asked)
    assert (report["judging"]["n_unchanged"], report["judging"]["n_judged"]) == (3, 0)
    assert report["judging"]["verdicts"] == {"passed": 3, "failed": 0}


def test_force_asks_again_and_what_was_said_stays(judged):
    judged.run()
    judged.evaluate()
    judged.model.says = lambda body, n: judgement(2)

    judged.evaluate("--force")

    assert [one["opinion"]["overall"] for one in judged.lines("judgement")] == [8, 2]
    assert len(judged.lines("judge_iteration")) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda judged: judged.profile(judge={"model": "judge-2"}),
        lambda judged: judged.profile(judge={"temperature": 0.5}),
        lambda judged: judged.profile(judge={"request_options": {"top_p": 0.5}}),
        lambda judged: judged.profile(judge={"max_tokens": 500}),
        lambda judged: judged.profile(judge_system_prompt="Be kind."),
        lambda judged: judged.profile(anchors={"enabled": True, "references": [
            {"anchor_id": "a", "label": "An 8", "text": "Hi."}]}),
        lambda judged: judged.project.case("c0", rubric=RUBRIC | {"scoring_instructions": "No."}),
        lambda judged: judged.project.case("c0", rubric=RUBRIC, expectations=EXPECTED),
    ],
    ids=["model", "temperature", "option", "max_tokens", "system", "anchors", "rubric", "expects"],
)  # fmt: skip
def test_another_question_is_asked_anew(judged, change):
    judged.model.says = lambda body, n: judgement(
        verdicts=VERDICTS if "hard-1" in body["messages"][1]["content"] else None
    )
    judged.run()
    judged.evaluate()
    change(judged)

    report = judged.report()

    assert report["judging"]["judges"]["main"]["asked"] == 1
    first, second = judged.lines("judge_iteration")
    assert first["question_hash"] != second["question_hash"]


@pytest.mark.parametrize(
    "change",
    [
        {"judge": {"retries": 1}}, {"judge": {"timeout_seconds": 9}},
        {"judge": {"max_concurrency": 1}},
        {"anchors": {"enabled": False, "references": [
            {"anchor_id": "a", "label": "An 8", "text": "Hi."}]}},
    ],
)  # fmt: skip
def test_what_no_judge_sees_is_no_other_question(judged, change):
    judged.run()
    judged.evaluate()
    judged.profile(**change)

    assert judged.report()["judging"]["n_unchanged"] == 1


@pytest.mark.parametrize(
    ("change", "score", "passed"),
    [
        ({"aggregation": {"pass_threshold": 9}}, 8, False),
        ({"aggregation": {"method": "all_pass", "pass_threshold": 7}}, 4, False),
        ({"aggregation": {"method": "mean"}}, 20 / 3, None),
        ({"runs": [{"judge_run_id": "once", "judge_id": "main", "repetitions": 3,
                    "sample_size": 1}]}, 4, False),
    ],
    ids=["threshold", "method", "mean", "sample_size"],
)  # fmt: skip
def test_how_answers_combine_is_no_question(judged, change, score, passed):
    """Three answers, 4, 8 and 8, combine anew, and nobody is asked."""
    judged.model.says = lambda body, n: judgement(4 if n == 0 else 8)
    three = [{"judge_run_id": "once", "judge_id": "main", "repetitions": 3}]
    judged.profile(runs=three, judge={"max_concurrency": 1})
    judged.run()
    judged.evaluate()
    assert judged.lines("judgement")[0]["opinion"]["overall"] == 8

    judged.profile(**{"runs": three, "judge": {"max_concurrency": 1}} | change)
    report = judged.report()

    assert len(judged.model.questions) == 3
    assert (report["judging"]["n_judged"], report["judging"]["judges"]["main"]["asked"]) == (1, 0)
    newest = judged.lines("judgement")[-1]
    assert newest["opinion"]["overall"] == pytest.approx(score)
    assert newest["passed"] is passed


def test_one_repetition_more_asks_one_more(judged):
    judged.run()
    judged.evaluate()
    judged.profile(runs=[{"judge_run_id": "once", "judge_id": "main", "repetitions": 2}])

    judged.evaluate()

    assert [one["iteration"] for one in judged.lines("judge_iteration")] == [1, 2]
    assert judged.lines("judgement")[-1]["judge_runs"][0]["n_successful"] == 2


def test_a_judge_that_fails_is_its_own_failure_and_is_tried_again(judged):
    judged.model.says = lambda body, n: "I would rather not."
    judged.run()

    report = judged.report(code=1)

    assert report["judging"]["n_failed"] == 1
    counts = report["judging"]["judges"]["main"]
    assert (counts["asked"], counts["succeeded"], counts["failures"]) == (1, 0, {"invalid": 1})
    assert "no JSON object" in counts["last_problem"]
    (answer,) = judged.lines("judge_iteration")
    (found,) = judged.lines("judgement")
    assert (answer["failure"], answer["n_answers"], answer["opinion"]) == ("invalid", 3, None)
    assert (found["status"], found["passed"], found["opinion"]) == ("failed", None, None)
    assert len(judged.judge_record(answer)["exchanges"]) == 3
    assert Kept(judged.dir).results()[0]["success"]

    judged.model.says = lambda body, n: judgement(9)
    again = judged.report()

    assert again["judging"]["judges"]["main"]["succeeded"] == 1
    assert judged.lines("judgement")[-1]["opinion"]["overall"] == 9


def test_a_judge_that_is_not_there_is_given_up_and_named(judged):
    judged.profile(judge={"base_url": "http://127.0.0.1:9/v1", "retries": 0, "max_concurrency": 1})
    judged.run(n_cases=6)

    done = judged.evaluate(code=1)

    assert len(judged.lines("judge_iteration")) == 3
    assert "judge main: 3 questions, 0 answered, 3 judge_down" in done.stdout
    assert "3 questions in a row had no answer" in done.stdout
    assert "the last that could not be used: " in done.stdout
    assert (
        "`collect evaluate r --evaluation-profile strict` asks for what is missing" in done.stdout
    )
    judged.profile()
    assert judged.report()["judging"]["n_judged"] == 6


def test_several_judges_are_asked_by_their_own_names_and_all_count(judged):
    base = {"type": "llm_probe", "provider": "openai_chat", "base_url": judged.endpoint.base_url}
    judged.profile(
        judges=[base | {"judge_id": "a", "model": "ja"}, base | {"judge_id": "b", "model": "jb"}],
        runs=[
            {"judge_run_id": "one", "judge_id": "a", "repetitions": 2},
            {"judge_run_id": "two", "judge_id": "b"},
        ],
    )
    judged.model.says = lambda body, n: judgement(4 if body["model"] == "ja" else 9)
    judged.run()

    judged.evaluate()

    asked = sorted(body["model"] for body in judged.model.questions)
    assert asked == ["ja", "ja", "jb"]
    (found,) = judged.lines("judgement")
    assert found["opinion"]["overall"] == 6.5
    scores = {one["judge_run_id"]: one["opinion"]["overall"] for one in found["judge_runs"]}
    assert scores == {"one": 4, "two": 9}
    assert (judged.dir / "artifacts" / "judge.b.jsonl.zst").exists()


def test_judgements_of_two_profiles_stand_beside_each_other(judged):
    judged.profile("kind", aggregation={"pass_threshold": 1.5})
    judged.model.says = lambda body, n: judgement(5)
    judged.run()

    judged.evaluate()
    judged.evaluate(profile="kind")

    found = {one["evaluation_profile_id"]: one["passed"] for one in judged.lines("judgement")}
    assert found == {"strict": False, "kind": True}
    assert judged.report()["judging"]["n_unchanged"] == 1


def test_an_answer_that_never_came_is_not_judged(judged):
    judged.endpoint.script = lambda wire, request: wire.answer({"error": "x"}, status=400)
    judged.project.profile(runner_defaults={"retries": 0})
    judged.project.case("c0", rubric=RUBRIC)
    collect_log(judged.project.root, "run", *SUITE, "--run-id", "r")

    report = judged.report(code=1)

    assert (report["judging"]["n_skipped"], judged.lines()) == (1, [])


def test_money_bounds_what_judges_are_asked(judged):
    price = ("--assume-price", "1000/1000")
    judged.run(n_cases=4)
    judged.profile(judge={"max_concurrency": 1, "max_tokens": 100})

    report = judged.report("--max-cost", "2.2", *price, code=1)

    # an answer costs 0.99; the most that one may cost is a bit more
    assert report["judging"]["judges"]["main"]["asked"] == 2
    assert report["judging"]["cost_usd"] == pytest.approx(1.98)
    assert "max_cost" in report["judging"]["stopped"]
    assert judged.report(*price)["judging"]["judges"]["main"]["asked"] == 2
    refused = judged.evaluate("--max-cost", "1", code=2)
    assert "model `main` has no price" in refused.stderr


def test_a_profile_without_judges_or_a_run_without_a_profile_is_said(judged):
    judged.run()
    judged.profile("none", judges=[], runs=[], aggregation={})
    judged.project.write("configs/evaluation_profiles/none.yaml", {
        "schema_version": 1, "evaluation_profile_id": "none", "title": "None"})  # fmt: skip

    assert "names no judges" in judged.evaluate(profile="none", code=2).stderr
    assert "--evaluation-profile" in judged.evaluate(profile=None, code=2).stderr


def test_a_key_that_is_not_set_is_named_before_anything_is_asked(judged):
    judged.run()
    judged.profile(judge={"api_key_env": "JUDGE_API_KEY"})

    refused = judged.evaluate(code=2)

    assert "JUDGE_API_KEY of the judge is not set" in refused.stderr
    assert judged.lines() == []


def test_cases_and_models_can_be_chosen(judged):
    judged.run(n_cases=3)

    judged.evaluate("--case", "c1", "--model", "m")

    assert {one["case_id"] for one in judged.lines()} == {"c1"}
    assert "no such one" in judged.evaluate("--case", "c9", code=2).stderr


def test_judgements_reach_the_lake(judged):
    judged.model.says = lambda body, n: judgement(8, verdicts=VERDICTS)
    judged.run(expectations=EXPECTED)
    judged.evaluate(mirrored=True)

    kept = Kept(judged.dir)
    (answer,) = kept.lake_table("judge_iterations").to_pylist()
    (found,) = kept.lake_table("judgements").to_pylist()
    assert answer["opinion"]["overall"] == found["opinion"]["overall"] == 8
    assert json.loads(answer["evidence"])["overall"] == ["it says so"]
    assert found["opinion"]["verdicts"][0] == {"expectation": "hard-1", "verdict": "met"}
    assert kept.lake_table("evaluations").num_rows == 0


def test_another_suite_gives_the_rubric(judged):
    judged.run()
    judged.evaluate()
    judged.project.case("c0", group="other", rubric=RUBRIC | {"scoring_instructions": "Halve."})
    judged.project.suite(suite_id="t", case_selection={"include_tags": []})
    text = (judged.project.root / "configs/suites/s.yaml").read_text()
    (judged.project.root / "configs/cases/group/c0/test.yaml").rename(
        judged.project.root / "before.yaml"
    )
    judged.project.write("configs/suites/t.yaml", text)

    judged.evaluate("--suite", "t")

    assert "Halve." in judged.model.questions[-1]["messages"][1]["content"]


def test_a_run_elsewhere_is_found(judged):
    judged.run("--runs", "kept")
    judged.dir = judged.project.root / "kept" / "r"

    judged.evaluate("--runs", "kept")

    assert judged.lines("judgement")


def test_a_question_that_had_an_answer_before_another_is_not_paid_again(judged):
    judged.run()
    judged.evaluate()
    judged.profile(judge={"model": "judge-2"})
    judged.model.says = lambda body, n: judgement(3)
    judged.evaluate()
    judged.profile()

    report = judged.report()

    assert (report["judging"]["n_judged"], len(judged.model.questions)) == (1, 2)
    assert [one["opinion"]["overall"] for one in judged.lines("judgement")] == [8, 3, 8]


def test_lines_that_nobody_can_read_are_passed_over(judged):
    """Torn, of another shape, or of another tool: an answer that is lost is asked again."""
    judged.run()
    judged.evaluate()
    path = judged.dir / "evaluations.jsonl"
    answer, found = path.read_bytes().splitlines(keepends=True)
    hostile = [
        b"\n", b"[1]\n", b"not json\n", answer.replace(b'"iteration":1', b'"iteration":"x"'),
        answer.replace(b'"repetition":1', b'"repetition":null'),
        answer.replace(b'"opinion":{', b'"opinion":{"overall":11,"was":{'),
        found.replace(b'"record_type":"judgement"', b'"record_type":"verdict"'), answer[:-9],
    ]  # fmt: skip
    path.write_bytes(b"".join(hostile))

    report = judged.report()

    assert report["judging"]["judges"]["main"]["asked"] == 1
    assert report["judging"]["verdicts"] == {"passed": 1, "failed": 0}
    assert path.read_bytes().startswith(b"".join(hostile[:-1])), "nothing is rewritten"


def test_on_a_full_disk_no_more_is_asked_than_is_on_its_way(judged):
    """A file may grow to 4 KB here, which an answer or two fill."""
    judged.model.seconds = 0.05
    judged.run(n_cases=24)
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
    limited += "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += "sys.argv[0] = 'collect'; from collect.cli import main; main()"
    words = ["evaluate", "r", "--evaluation-profile", "strict"]

    done = subprocess.run(
        [sys.executable, "-P", "-c", limited, *words],
        cwd=judged.project.root, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip

    assert done.returncode == 1
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
    n_asked, n_kept = len(judged.model.questions), len(judged.lines("judge_iteration"))
    assert 0 < n_kept < 12
    assert n_asked <= n_kept + 4, "as many as are asked at once, and none after them"
    assert judged.report()["judging"]["judges"]["main"]["asked"] == 24 - n_kept

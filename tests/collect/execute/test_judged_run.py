"""`collect run --evaluation-profile E`: trials judged as they are made, and never changed by it."""

import json
import threading
import time

import pytest

from tests.support.judge_endpoint import JudgedModel, is_question, judgement
from tests.support.judged_run import RUBRIC, SUITE, Judged
from tests.support.kept_run import Kept, begin, collect, collect_log, wait_for

pytestmark = pytest.mark.peers

PROFILE = ("--evaluation-profile", "strict")


@pytest.fixture
def judged(project, endpoint):
    return Judged(project, endpoint)


def test_trials_are_judged_and_the_verdict_of_the_run_is_without_the_judge(judged):
    judged.model.says = lambda body, n: judgement(2)
    done = judged.run(*PROFILE, "--json", n_cases=3)

    report = json.loads(done.stdout)
    assert report["judging"]["verdicts"] == {"passed": 0, "failed": 3}
    assert report["exit_code"] == 0
    assert len(judged.lines("judge_iteration")) == len(judged.lines("judgement")) == 3
    assert {row["passed"] for row in Kept(judged.dir).results()} == {None}
    log = (judged.dir / "results.jsonl").read_bytes().splitlines()
    for one in judged.lines("judgement"):
        row = json.loads(log[one["result_no"] - 1])
        assert (row["record_type"], row["case_id"]) == ("result", one["case_id"])
    config = json.loads((judged.dir / "config.json").read_text())
    assert config["evaluation"]["evaluation_profile_id"] == "strict"
    assert len(config["judge_hash"]) == 64


def test_what_a_run_has_judged_is_as_before_for_evaluate(judged):
    judged.run(*PROFILE, n_cases=2)

    report = judged.report()

    assert (report["judging"]["n_unchanged"], len(judged.model.questions)) == (2, 2)
    assert judged.report(profile=None)["judging"]["n_unchanged"] == 2, "the run's own profile"


def test_a_hosted_judge_is_asked_while_trials_are_made_and_a_local_one_after_them(judged):
    """By what the endpoint saw: here all of it is on this machine, so the judge comes last."""
    judged.run(*PROFILE, n_cases=4)

    kinds = [is_question(one.body) for one in judged.endpoint.requests if one.body]
    assert kinds == [False] * 4 + [True] * 4


def test_the_last_words_say_what_judges_said(judged):
    judged.model.says = lambda body, n: judgement(9) if n == 0 else judgement(1)
    done = judged.run(*PROFILE, n_cases=2)

    assert "evaluation profile strict: 2 trials: 2 judged" in done.stdout
    assert "verdicts of the judges: 2 passed, 0 failed" in done.stdout
    assert "judge main: 2 questions, 2 answered" in done.stdout
    assert "judge `main` is on this machine: it is asked when all trials are made" in done.stderr


def test_a_judge_that_fails_ends_a_run_with_1_and_costs_no_trial(judged):
    judged.model.says = lambda body, n: "no"
    for number in range(2):
        judged.project.case(f"c{number}", expectations={"hard_expectations": [{"text": "x"}]})

    done = collect_log(judged.project.root, "run", *SUITE, *PROFILE, "--run-id", "r")

    assert done.returncode == 1
    assert "2 without a usable answer" in done.stdout
    again = "`collect evaluate r --evaluation-profile strict` asks for what is missing"
    assert again in done.stdout
    assert [row["success"] for row in Kept(judged.dir).results()] == [True, True]


def test_money_covers_models_and_judges_together(judged):
    """A trial costs 0.01, an answer of the judge 0.99: two of four fit, and trials go first."""
    judged.profile(judge={"max_tokens": 100})
    price = ("--assume-price", "1000/1000", "--max-cost", "2.3")
    for number in range(4):
        judged.project.case(f"c{number}", expectations={"hard_expectations": [{"text": "x"}]})
    judged.project.profile(runner_defaults={"max_tokens": 10})
    judged.model.says = lambda body, n: judgement(verdicts={"hard-1": "met"})

    done = collect_log(
        judged.project.root, "run", *SUITE, *PROFILE, *price, "--run-id", "r", "--json"
    )

    report = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert report["present"] == 4
    assert report["judging"]["judges"]["main"]["asked"] == 2
    assert "max_cost" in report["judging"]["stopped"]
    spent = sum(one["cost_usd"] for one in judged.lines("judge_iteration"))
    assert spent + report["cost_usd"] <= 2.3

    again = collect_log(judged.project.root, "run", "--resume", "r", "--assume-price", "1000/1000",
                        "--max-cost", "2.5", "--json")  # fmt: skip
    assert json.loads(again.stdout)["judging"]["judges"]["main"]["asked"] == 0, "spent is spent"
    last = collect_log(judged.project.root, "run", "--resume", "r", "--assume-price", "1000/1000",
                       "--max-cost", "9", "--json")  # fmt: skip
    assert last.returncode == 0, last.stderr
    assert json.loads(last.stdout)["judging"]["judges"]["main"]["asked"] == 2


def test_a_run_goes_on_with_the_judges_that_it_began_with(judged):
    judged.run(*PROFILE)
    judged.profile(judge={"model": "judge-2"})

    refused = collect_log(judged.project.root, "run", "--resume", "r")

    assert refused.returncode == 2
    assert "evaluation profile `strict` is not here as it was" in refused.stderr
    judged.profile()
    assert collect_log(judged.project.root, "run", "--resume", "r").returncode == 0


@pytest.mark.parametrize("signals", [1, 2])
def test_what_was_not_judged_at_an_interrupt_is_judged_when_the_run_goes_on(judged, signals):
    judged.model.seconds = 0.3
    judged.profile(judge={"max_concurrency": 1})
    for number in range(6):
        judged.project.case(f"c{number}", rubric={"criteria": []})
    running = begin(judged.project.root, "run", *SUITE, *PROFILE, "--run-id", "r")
    wait_for(lambda: len(judged.model.questions) > 1)
    for _ in range(signals):
        running.send_signal(2)
        time.sleep(0.2)

    out, err = running.communicate(timeout=60)

    assert running.returncode == 1, err
    assert "not judged yet" in out
    n_before = len(judged.lines("judge_iteration"))
    assert 0 < n_before < 6
    done = collect(judged.project.root, "run", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert len(judged.lines("judge_iteration")) == len(judged.lines("judgement")) == 6
    cases = [one["case_id"] for one in judged.lines("judge_iteration")]
    assert len(set(cases)) == 6, "none is asked twice that was written down"


def test_judgements_are_in_the_lake_when_the_run_ends(judged):
    for number in range(3):
        judged.project.case(f"c{number}", rubric={"criteria": []})
    done = collect(judged.project.root, "run", *SUITE, *PROFILE, "--run-id", "r")

    assert done.returncode == 0, done.stderr
    kept = Kept(judged.dir)
    assert kept.lake_table("judgements").num_rows == 3
    assert kept.lake_table("judge_iterations").num_rows == 3
    (row,) = kept.lake_table("runs").to_pylist()
    assert row["evaluation_profile_id"] == "strict"
    group = kept.summary()
    assert (group["n_scorable"], group["coverage"], group["passed_rate"]) == (3, 1.0, 1.0)


def test_judges_of_models_elsewhere_are_asked_beside_them(judged):
    """At an address of this machine that does not look like one."""
    order, lock = [], threading.Lock()

    class Noted(JudgedModel):
        def __call__(self, wire, request):
            with lock:
                order.append(is_question(request.body))
            if not is_question(request.body):
                wire.sleep(0.15)
            super().__call__(wire, request)

    judged.endpoint.script = Noted()
    address = f"http://0.0.0.0:{judged.endpoint.port}/v1"
    judged.project.model(base_url=address, max_concurrency=1)
    judged.profile(judge={"base_url": address, "provider": "ollama_openai"})

    judged.run(*PROFILE, n_cases=6)

    assert order.count(True) == 6
    assert True in order[: max(n for n, one in enumerate(order) if not one)], "beside the trials"


def test_a_plan_says_what_its_judges_may_cost(judged):
    """By hand: 4 characters a token, 3,000 tokens for 12,000 characters, 3 questions a trial."""
    twice = {"judge_run_id": "one", "judge_id": "main", "repetitions": 2}
    judged.profile(
        judge={"max_tokens": 100}, runs=[twice, {"judge_run_id": "two", "judge_id": "main"}]
    )
    judged.project.write("benchlake.yaml", "schema_version: 1\nprices:\n  - model: judge-1\n"
                         "    valid_from: 2026-01-01\n    input_usd_per_million: 1\n"
                         "    output_usd_per_million: 10\n")  # fmt: skip
    for number in range(2):
        judged.project.case(f"c{number}", rubric=RUBRIC)

    shown = json.loads(collect(judged.project.root, "plan", *SUITE, *PROFILE, "--json").stdout)

    (one,) = shown["judge_estimates"]
    assert (one["judge_id"], one["n_questions"]) == ("main", 6)
    assert one["output_tokens_high"] == 600
    assert one["input_tokens_high"] - one["input_tokens_low"] == 6 * 3_000
    assert one["cost_low_nano_usd"] == 1_000 * one["input_tokens_low"]
    assert one["cost_high_nano_usd"] == 1_000 * one["input_tokens_high"] + 10_000 * 600
    assert judged.endpoint.requests == []
    text = collect(judged.project.root, "plan", *SUITE, *PROFILE).stdout
    assert "judge main: 6 questions, tokens in about " in text
    judged.run(*PROFILE)
    body = judged.model.questions[0]
    sent = sum(len(message["content"]) for message in body["messages"])
    per_question = one["input_tokens_low"] / 6
    assert per_question - 20 < sent / 4 < one["input_tokens_high"] / 6


def questions(judged):
    return [one for one in judged.endpoint.requests if one.body and is_question(one.body)]


def again(judged, run_id, *words, profile="strict"):
    named = ("--evaluation-profile", profile)
    done = collect_log(
        judged.project.root, "run", *SUITE, *named, "--reuse", "--run-id", run_id, *words
    )
    judged.dir = judged.project.root / "runs" / run_id
    return done


def test_what_judges_said_of_an_answer_is_taken_over_with_it(judged):
    judged.model.says = lambda body, n: judgement(8 if n % 2 else 9)
    judged.run(*PROFILE, n_cases=3)
    before = {one["case_id"]: one for one in judged.lines("judge_iteration")}
    asked = len(questions(judged))
    assert asked == 3

    done = again(judged, "later")

    assert done.returncode == 0, done.stderr
    assert len(questions(judged)) == asked, "nobody is asked twice"
    assert "3 answers of judges about them taken over with them" in done.stderr
    lines = judged.lines("judge_iteration")
    assert {one["case_id"]: one["opinion"] for one in lines} == {
        name: one["opinion"] for name, one in before.items()
    }
    for line in lines:
        assert (line["run_id"], line["reused_from_run_id"]) == ("later", "r")
        assert (line["cost_usd"], line["e2e_ms"], line["input_tokens"]) == (None, None, None)
        assert line["evaluated_at_ms"] == before[line["case_id"]]["evaluated_at_ms"]
        assert judged.judge_record(line)["exchanges"], "prompts and raw answers are copied"
    rows = (judged.dir / "results.jsonl").read_bytes().splitlines()
    for one in judged.lines("judgement"):
        row = json.loads(rows[one["result_no"] - 1])
        assert (row["record_type"], row["case_id"]) == ("result", one["case_id"])
        assert one["run_id"] == "later"
    assert len(judged.lines("judgement")) == 3


def test_in_a_chain_of_reused_runs_a_judge_is_paid_once(judged):
    """The first run was never judged: the second asks, and the third takes over from it."""
    judged.run(n_cases=2)
    assert again(judged, "second").returncode == 0
    assert len(questions(judged)) == 2

    assert again(judged, "third").returncode == 0

    assert len(questions(judged)) == 2
    assert {one["reused_from_run_id"] for one in judged.lines("judge_iteration")} == {"second"}
    assert {row["reused_from_run_id"] for row in Kept(judged.dir).results()} == {"r"}


def test_another_question_about_a_taken_over_answer_is_asked(judged):
    judged.run(*PROFILE, n_cases=2)
    asked = len(questions(judged))
    judged.profile(judge={"request_options": {"seed": 7}})

    assert again(judged, "later").returncode == 0

    assert len(questions(judged)) == asked + 2
    newest = judged.lines("judge_iteration")[-2:]
    assert {one["reused_from_run_id"] for one in newest} == {None}


def test_another_profile_takes_nothing_over(judged):
    judged.run(*PROFILE, n_cases=1)
    judged.profile("kind")

    assert again(judged, "later", profile="kind").returncode == 0

    (line,) = judged.lines("judge_iteration")
    assert (line["evaluation_profile_id"], line["reused_from_run_id"]) == ("kind", None)


def test_a_failed_answer_of_a_judge_is_asked_for_again(judged):
    judged.model.says = lambda body, n: "no" if n < 4 else judgement(8)
    for number in range(1):
        judged.project.case(f"c{number}", rubric=RUBRIC)
    first = collect_log(judged.project.root, "run", *SUITE, *PROFILE, "--run-id", "r")
    assert first.returncode == 1
    judged.model.says = lambda body, n: judgement(8)

    assert again(judged, "later").returncode == 0

    (line,) = judged.lines("judge_iteration")
    assert (line["failure"], line["reused_from_run_id"]) == (None, None)

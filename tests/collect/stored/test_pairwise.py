"""`collect evaluate --against`: trials of two runs in both orders, each question paid for once."""

import json

import pytest

from tests.support.judge_endpoint import judgement
from tests.support.judged_run import SUITE, Judged
from tests.support.kept_run import Kept, collect_log

pytestmark = pytest.mark.peers


def prefers(choose):
    """Return a judge that is shown two answers; `choose` takes both and returns its choice."""

    def says(body, n):
        if "First subject" not in body["messages"][1]["content"]:
            return judgement()
        text = body["messages"][1]["content"]
        first = text.partition("# First subject: its final answer")[2].partition("# Second")[0]
        second = text.partition("# Second subject: its final answer")[2].partition("# Your")[0]
        choice = choose(first, second)
        if isinstance(choice, tuple):
            return choice
        return json.dumps({"summary": "so", "evidence": [], "preferred": choice})

    return says


def the_one_with(word):
    return prefers(lambda one, two: "first" if word in one else "second" if word in two else "tie")


class Pair(Judged):
    """A run `r` and a run `other`, each with an answer of its own."""

    def make(self, this="A fine answer.", other="Hello there.", n_cases=1, **fields):
        self.model.answer = this
        self.run(n_cases=n_cases, **fields)
        self.other(other)

    def other(self, answer, run_id="other"):
        self.model.answer = answer
        done = collect_log(self.project.root, "run", *SUITE, "--run-id", run_id)
        assert done.returncode == 0, done.stderr

    def against(self, *words, run="other", **how):
        return self.report("--against", run, *words, **how)["judging"]


@pytest.fixture
def pair(project, endpoint):
    return Pair(project, endpoint)


def test_who_is_preferred_in_both_orders_wins(pair):
    pair.make(n_cases=2)
    pair.model.says = the_one_with("fine")

    report = pair.against()

    assert report["models"]["m"] == {
        "won": 2, "tied": 0, "lost": 0, "cannot_say": 0, "identical": 0,
    }  # fmt: skip
    assert (report["n_comparisons"], report["n_flips_to_first"]) == (2, 0)
    assert (report["n_longer_won"], report["n_shorter_won"]) == (2, 0)
    assert len(pair.model.questions) == 4
    lines = pair.lines("pair_iteration")
    assert {(one["pair_order"], one["preferred"]) for one in lines} == {
        ("this_first", "this"), ("other_first", "this"),
    }  # fmt: skip
    assert {pair.judge_record(one)["pair_order"] for one in lines} == {"this_first", "other_first"}
    (one, _) = pair.lines("preference")
    assert (one["outcome"], one["other_run_id"], one["kind"]) == ("won", "other", "judge")
    assert (one["answer_chars"], one["other_answer_chars"]) == (14, 12)


@pytest.mark.parametrize(("place", "flips"), [("first", (1, 0)), ("second", (0, 1))])
def test_a_judge_that_goes_by_the_place_prefers_nobody(pair, place, flips):
    pair.make()
    pair.model.says = prefers(lambda *_: place)

    report = pair.against()

    assert report["models"]["m"]["tied"] == 1
    assert (report["n_flips_to_first"], report["n_flips_to_second"]) == flips
    assert report["n_longer_won"] + report["n_shorter_won"] == 0


def test_a_judge_that_cannot_say_is_no_tie(pair):
    pair.make()
    pair.model.says = prefers(lambda *_: "cannot_say")

    report = pair.against()

    assert report["models"]["m"] | {"cannot_say": 0} == dict.fromkeys(report["models"]["m"], 0)
    assert report["models"]["m"]["cannot_say"] == 1


def test_the_same_answer_is_a_tie_and_nobody_is_asked(pair):
    pair.make(this="Hello there.")

    report = pair.against()

    assert pair.model.questions == []
    assert (report["models"]["m"]["tied"], report["models"]["m"]["identical"]) == (1, 1)
    (line,) = pair.lines()
    assert (line["outcome"], line["is_identical"], line["n_comparisons"]) == ("tied", True, 0)


def test_a_second_time_asks_nothing_and_writes_nothing(pair):
    pair.make(n_cases=2)
    pair.model.says = the_one_with("fine")
    pair.against()
    before, asked = pair.lines(), len(pair.model.questions)

    report = pair.against()

    assert (pair.lines(), len(pair.model.questions)) == (before, asked)
    assert (report["n_unchanged"], report["models"]["m"]["won"]) == (2, 2)
    pair.against("--force")
    assert len(pair.model.questions) == 2 * asked


def test_only_the_order_that_failed_is_asked_again(pair):
    pair.make()
    pair.model.says = prefers(lambda one, two: "first" if "fine" in one else (400, "no such thing"))
    done = pair.evaluate("--against", "other", code=1)
    assert "1 without a usable answer" in done.stdout
    assert "--against" in done.stdout.splitlines()[-1]
    assert [one["failure"] for one in pair.lines("pair_iteration")].count(None) == 1
    pair.model.says = the_one_with("fine")
    n_before = len(pair.model.questions)

    report = pair.against()

    assert len(pair.model.questions) == n_before + 1
    assert report["models"]["m"]["won"] == 1


def test_other_answers_of_the_other_run_are_another_pair(pair):
    pair.make()
    pair.other("A fine and longer answer.", "third")
    pair.model.says = the_one_with("fine")
    pair.against()
    pair.model.says = the_one_with("longer")

    report = pair.against(run="third")

    assert report["models"]["m"]["lost"] == 1
    assert report["n_longer_won"] == 1
    assert [one["outcome"] for one in pair.lines("preference")] == ["won", "lost"]


def test_judges_see_both_and_not_who_they_are(pair):
    pair.make()
    pair.profile(judge_system_prompt="Think of teachers.")
    pair.model.says = the_one_with("fine")

    pair.against()

    for question in pair.model.questions:
        system, user = (one["content"] for one in question["messages"])
        assert system.startswith("Think of teachers.\n\nYou say which of two subjects")
        assert user.count("Say c0.") == 1
        assert "A fine answer." in user
        assert "Hello there." in user
        assert "Manners" in user
        assert "real-m" not in user
    first, second = (one["messages"][1]["content"] for one in pair.model.questions)
    assert (first.index("fine") < first.index("Hello")) != (
        second.index("fine") < second.index("Hello")
    )


def test_several_judge_runs_and_iterations_combine(pair):
    pair.make()
    runs = [
        {"judge_run_id": "one", "judge_id": "main", "repetitions": 3, "sample_size": 2},
        {"judge_run_id": "two", "judge_id": "main"},
    ]
    pair.profile(runs=runs)
    pair.model.says = the_one_with("fine")

    pair.against()

    assert len(pair.model.questions) == 8
    (line,) = pair.lines("preference")
    assert [(run["n_successful"], run["n_used"]) for run in line["judge_runs"]] == [(3, 2), (1, 1)]
    assert (line["n_comparisons"], line["outcome"]) == (3, "won")


def test_two_models_of_one_run(pair):
    pair.project.suite(models=[
        {"model_id": one, "provider": "openai_chat", "requested_model": f"real-{one}",
         "base_url": pair.endpoint.base_url} for one in ("a", "b")
    ])  # fmt: skip
    pair.run()
    done = pair.evaluate("--against", "r", code=2)
    assert "--against-model" in done.stderr

    report = pair.against("--against-model", "b", run="r")

    assert report["models"] == {"a": {
        "won": 0, "tied": 1, "lost": 0, "cannot_say": 0, "identical": 1,
    }}  # fmt: skip


def test_rows_are_in_the_lake(pair):
    pair.make()
    pair.model.says = the_one_with("fine")

    pair.evaluate("--against", "other", mirrored=True)

    kept = Kept(pair.dir)
    assert kept.lake_table("pair_iterations").num_rows == 2
    (row,) = kept.lake_table("preferences").to_pylist()
    assert (row["outcome"], row["other_run_id"], row["other_model_id"]) == ("won", "other", "m")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--against", "nowhere"), "nowhere"),
        (("--against", "other", "--against-model", "x"), "`x`"),
        (("--against-model", "m"), "--against"),
    ],
)
def test_what_is_not_there_is_said(pair, words, said):
    pair.make()

    assert said in pair.evaluate(*words, code=2).stderr


def test_a_case_that_asked_something_else_is_left_out(pair):
    pair.make(n_cases=2)
    pair.project.case("c1", input={"messages": [{"role": "user", "content": "Sing."}]})
    pair.other("Hello there.", "third")
    pair.model.says = the_one_with("fine")

    done = pair.evaluate("--against", "third")

    assert "case `c1`: asked the other run something else" in done.stdout
    assert "1 won" in done.stdout


def test_money_ends_before_the_next_question(pair):
    pair.make(n_cases=3)
    pair.model.says = the_one_with("fine")

    report = json.loads(
        pair.evaluate(
            "--against", "other", "--max-cost", "0.0075", "--assume-price", "1/1", "--json", code=1
        ).stdout
    )["judging"]

    assert report["stopped"].startswith("max_cost")
    assert report["n_open"] > 0


def test_a_trial_without_a_counterpart_is_counted(pair):
    pair.make()
    pair.project.profile(execution_policy={"run_repetitions": 2})
    pair.other("A fine answer.", "twice")
    pair.model.says = the_one_with("fine")

    done = collect_log(
        pair.project.root, "evaluate", "twice", "--evaluation-profile", "strict",
        "--against", "other",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "left out: 1 trial without one of the same case and repetition there" in done.stdout
    assert "1 won" in done.stdout

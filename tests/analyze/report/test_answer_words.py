"""The answer of a report in sentences: which models, how good, what changed, how sure."""

import pytest

from analyze.report.sentences import change_sentence, headline_of
from schemas.output.report import Doubt, ModelAnswer, ReportedRun, RunReport

ALONE = "a single case says nothing about other cases: there is no interval and no test"


def answer(model_id="m", rate=0.8, *, around=0.1, **fields):
    values = {
        "provider": "openai", "model": model_id, "thinking_level": None, "model_id": model_id,
        "passed_rate": rate, "n_cases": 40, "n_scored": 120, "is_leading": False,
        "low": None if rate is None else rate - around,
        "high": None if rate is None else rate + around,
        "change": None, "difference": None, "difference_low": None, "difference_high": None,
        "n_broke": 0, "n_fixed": 0,
    }  # fmt: skip
    return ModelAnswer(**(values | fields))


def changed(model_id, verdict, difference, **fields):
    around = {"difference_low": difference - 0.05, "difference_high": difference + 0.05}
    return answer(model_id, change=verdict, difference=difference, **(around | fields))


def run(run_id):
    return ReportedRun.model_construct(run_id=run_id)


def doubt(is_serious):
    return Doubt(code="coverage", is_serious=is_serious, model_ids=(), sentence="s", command=None)


def headline(*answers, baseline=(), doubts=()):
    report = RunReport.model_construct(
        answer=answers, baseline=tuple(map(run, baseline)), doubts=tuple(map(doubt, doubts))
    )
    return headline_of(report)


def test_one_model_alone_is_told_with_what_stands_behind_it():
    sentence = "m passed 80.0 % of 120 trials in 40 cases (95 % interval 70.0 to 90.0)."

    assert headline(answer()) == sentence


def test_one_case_has_no_interval():
    one = answer(low=None, high=None, n_cases=1, n_scored=1)

    assert headline(one) == "m passed 80.0 % of 1 trial in 1 case."


def test_the_best_of_several_is_named_with_those_that_may_be_as_good():
    answers = [answer("a", 0.9, is_leading=True), answer("b", 0.85, is_leading=True),
               answer("c", 0.2)]  # fmt: skip

    assert headline(*answers) == (
        "a is best of 3 models with 90.0 % passed (95 % interval 80.0 to 100.0), "
        "and b (85.0 %) may be as good."
    )


def test_more_rivals_than_a_sentence_holds_are_counted():
    answers = [answer(f"m{n}", 0.8 - n / 100, is_leading=True) for n in range(6)]

    assert "and m1 (79.0 %), m2 (78.0 %), m3 (77.0 %) and 2 more may be as good" in headline(
        *answers
    )


def test_models_with_the_very_same_rate_are_best_together():
    one, other = (answer(name, 0.8, is_leading=True) for name in "ab")
    wide = answer("b", 0.8, around=0.15, is_leading=True)
    rival = answer("c", 0.75, is_leading=True)
    alone = answer("b", 0.8, low=None, high=None, is_leading=True)

    assert headline(one, other) == "a and b passed 80.0 % each (95 % interval 70.0 to 90.0)."
    assert headline(one, alone) == "a and b passed 80.0 % each."
    assert headline(one, wide, rival) == (
        "a and b are best of 3 models with 80.0 % passed each "
        "(95 % intervals within 65.0 to 95.0), and c (75.0 %) may be as good."
    )


def test_a_model_without_a_verdict_is_not_among_those_that_one_is_best_of():
    good, silent = answer("a", 0.9, is_leading=True), answer("z", None)

    assert headline(good, answer("b", 0.2), silent) == (
        "a is best of 2 models with 90.0 % passed (95 % interval 80.0 to 100.0); "
        "1 other model has no verdict."
    )
    assert headline(good, silent, answer("y", None)) == (
        "a passed 90.0 % of 120 trials in 40 cases (95 % interval 80.0 to 100.0); "
        "2 other models have no verdict."
    )


def test_models_that_cannot_be_ranked_are_counted_and_not_named_best():
    good, fair = answer("a", 0.9, is_leading=True), answer("b", 0.85)
    few = answer("few", 1.0, around=0, is_ranked=False)
    fewer = answer("fewer", 0.5, is_ranked=False)

    assert headline(good, fair, few) == (
        "a is best of 2 models with 90.0 % passed (95 % interval 80.0 to 100.0); "
        "1 other model has too few cases or verdicts to be ranked."
    )
    assert headline(good, few, answer("z", None)) == (
        "a passed 90.0 % of 120 trials in 40 cases (95 % interval 80.0 to 100.0); "
        "1 other model has too few cases or verdicts to be ranked; 1 other model has no verdict."
    )
    assert headline(few, fewer) == (
        "few passed 100.0 % (95 % interval 100.0 to 100.0), the highest rate of 2 models; "
        "too few cases or verdicts to name one best."
    )
    assert headline(few, answer("same", 1.0, around=0, is_ranked=False)) == (
        "few and same passed 100.0 % each (95 % interval 100.0 to 100.0); "
        "too few cases or verdicts to name one best."
    )


def test_without_a_verdict_nothing_is_claimed():
    assert headline(answer("a", None), answer("b", None)) == "No trial of a and b has a verdict."
    assert headline() == "No model was asked anything."


def test_what_changed_comes_with_what_needs_a_look_first():
    answers = [
        changed("same", "unchanged", 0.0),
        changed("up", "improved", 0.1),
        changed("down", "regressed", -0.18),
        changed("worse", "regressed", -0.3),
        answer("new"),
    ]

    sentence = headline(*answers, baseline=["before"])
    assert sentence.startswith(
        "worse regressed by 30.0 points and down regressed by 18.0 points, "
        "up improved by 10.0 points since before; same, up, down and 2 more passed 80.0 % each"
    )
    assert sentence.endswith("; same unchanged, new not in it.")


def test_a_change_of_all_models_has_nothing_behind_it():
    sentence = headline(changed("m", "regressed", -0.3), baseline=["before"])
    assert sentence.startswith("m regressed by 30.0 points since before; m passed ")
    assert sentence.count("m ") == 2


def test_a_baseline_of_several_runs_is_told_as_such():
    sentence = headline(changed("m", "unchanged", 0.0), baseline=["one", "two", "three"])

    assert sentence.endswith("; against 3 runs, one to three: m unchanged.")


def test_serious_doubts_stand_in_the_headline():
    assert headline(answer(), doubts=[True, False, True]).endswith("; with 2 serious doubts.")
    assert headline(answer(), doubts=[True]).endswith("; with 1 serious doubt.")
    assert "doubt" not in headline(answer(), doubts=[False])


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (
            changed("m", "regressed", -0.18, n_broke=2, n_fixed=1),
            "regressed by 18.0 points (95 % -23.0 to -13.0); 2 cases broke, 1 case fixed",
        ),
        (changed("m", "improved", 0.1), "improved by 10.0 points (95 % +5.0 to +15.0)"),
        (changed("m", "unchanged", 0.001), "unchanged: +0.1 points (95 % -4.9 to +5.1)"),
        (
            changed("m", "inconclusive", -0.04),
            "inconclusive: -4.0 points (95 % -9.0 to +1.0), which may be chance",
        ),
        (answer(change="not_comparable"), "not comparable with the baseline"),
        (
            answer(change="inconclusive", change_why=ALONE),
            f"inconclusive: {ALONE}",
        ),
        (
            changed("m", "regressed", -0.04),
            "regressed by 4.0 points (95 % -9.0 to +1.0), borderline",
        ),
        (
            changed("m", "inconclusive", -0.06),
            "inconclusive: -6.0 points (95 % -11.0 to -1.0), borderline",
        ),
        (answer(), "the baseline lacks it"),
    ],
)
def test_a_change_is_told_with_its_interval(one, sentence):
    assert change_sentence(one) == sentence


def test_rates_that_cannot_be_compared_are_not_put_side_by_side():
    one = changed("m", "not_comparable", -0.5)

    assert change_sentence(one) == "not comparable with the baseline"
    assert "50.0" not in headline(one, baseline=["before"])

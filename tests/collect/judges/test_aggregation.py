"""How answers of judges combine, against tables that were computed by hand."""

import pytest

from collect.judges.aggregation import (
    check_scores,
    combined_opinion,
    judged,
    run_opinion,
    soft_score,
    threshold_of,
)
from schemas.config.case import Expectation
from schemas.config.evaluation_profile import JudgeAggregationConfig
from schemas.run.judgement import Opinion
from schemas.run.result import CheckResult

SAY = {"m": "met", "p": "partly", "x": "missed", "?": "cannot_say"}


def opinions(*scores, dimension=None, verdicts=()):
    """Return answers with these overall scores; `task` is scored as `dimension` says."""
    dimension = dimension or scores
    return [
        Opinion.of(
            score,
            {"task": dimension[n]},
            {f"soft-{k}": SAY[row[n]] for k, row in enumerate(verdicts, 1)},
        )
        for n, score in enumerate(scores)
    ]


def settings(method="median", threshold=None):
    return JudgeAggregationConfig(method=method, pass_threshold=threshold)


@pytest.mark.parametrize(
    ("method", "threshold", "scores", "expected"),
    [
        ("median", None, (2, 9, 4), 4),
        ("median", None, (2, 9, 4, 5), 4.5),
        ("median", 7, (2, 9, 4), 4),
        ("mean", None, (2, 9, 4), 5),
        ("mean", None, (1, 2), 1.5),
        ("majority_vote", 5, (9, 8, 1), 8.5),  # two above: the median of 9 and 8
        ("majority_vote", 5, (9, 4, 1), 2.5),  # two below: of 4 and 1
        ("majority_vote", 5, (5, 5, 1), 5),  # at the threshold is above it
        ("majority_vote", 5, (9, 1), 1),  # a tie loses
        ("majority_vote", 5, (9, 8, 2, 4), 3),  # a tie loses, with the median of 2 and 4
        ("majority_vote", 0.5, (6, 6, 1), 6),  # a fraction of the scale
        ("majority_vote", 5, (9,), 9),
        ("all_pass", 5, (9, 8, 3), 3),
        ("all_pass", 5, (9, 8), 8),
    ],
)
def test_answers_of_one_judge_run_combine_by_the_method(method, threshold, scores, expected):
    found = run_opinion(opinions(*scores), settings(method, threshold))

    assert found.overall == expected
    assert found.dimensions.known == {"task": expected}


def test_a_dimension_votes_for_itself():
    found = run_opinion(
        opinions(9, 8, 1, dimension=(2, 7, 3)), settings("majority_vote", 5)
    )  # overall: two above; task: two below

    assert (found.overall, found.dimensions.task) == (8.5, 2.5)


@pytest.mark.parametrize(
    ("sample_size", "expected"), [(None, 5), (1, 1), (2, 2), (3, 3), (5, 5), (9, 5)]
)
def test_the_first_answers_of_a_sample_count(sample_size, expected):
    found = run_opinion(opinions(1, 3, 9, 9, 5), settings(), sample_size)

    assert found.overall == {1: 1, 2: 2, 3: 3}.get(sample_size, expected)


def test_several_judge_runs_come_to_their_median():
    assert combined_opinion(opinions(2, 9, 4)).overall == 4
    assert combined_opinion(opinions(2, 9)).dimensions.known == {"task": 5.5}
    assert combined_opinion([]) is None
    assert run_opinion([], settings()) is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("mmx", "met"),
        ("mxx", "missed"),
        ("mx", "missed"),  # a tie loses
        ("mp", "partly"),
        ("mpx", "partly"),
        ("m?", "met"),  # as many say something as do not
        ("m??", "cannot_say"),
        ("??", "cannot_say"),
        ("mx??", "missed"),
        ("m", "met"),
    ],
)
def test_verdicts_come_to_their_lower_median(said, expected):
    answers = opinions(*([5] * len(said)), verdicts=(said,))

    assert run_opinion(answers, settings()).by_expectation == {"soft-1": expected}


@pytest.mark.parametrize(
    ("weights", "said", "expected"),
    [
        ((1, 1), "mx", 0.5),
        ((3, 1), "mx", 0.75),
        ((3, 1), "xm", 0.25),
        ((1, 1, 2), "mpx", 0.375),
        ((1, 5), "m?", 1),  # what nobody can say has no weight
        ((1, 5), "x?", 0),
        ((2, 5), "??", None),
        ((), "", None),
    ],
)
def test_soft_expectations_give_credit_by_weight(weights, said, expected):
    listed = [Expectation(text="x", weight=weight) for weight in weights]
    verdicts = {f"soft-{n}": SAY[one] for n, one in enumerate(said, 1)} | {"hard-1": "missed"}

    assert soft_score(listed, verdicts) == expected


def test_an_expectation_without_a_verdict_has_no_weight():
    listed = [Expectation(text="x", weight=1), Expectation(text="y", weight=9)]

    assert soft_score(listed, {"soft-1": "met"}) == 1


@pytest.mark.parametrize(
    ("stated", "on_ten"), [(None, None), (0.7, 7), (0.05, 0.5), (1, 1), (7, 7), (10, 10)]
)
def test_a_threshold_below_one_is_a_fraction(stated, on_ten):
    assert threshold_of(settings(threshold=stated)) == pytest.approx(on_ten)


@pytest.mark.parametrize(
    ("overall", "task", "threshold", "passed", "failed"),
    [
        (7, 7, 7, True, ()),
        (6.99, 9, 7, False, ()),
        (9, 6.99, 7, True, ("task",)),  # a dimension is shown, the overall score decides
        (1, 1, 7, False, ("task",)),
        (1, 1, None, None, ()),
    ],
)
def test_the_overall_score_decides_and_dimensions_are_shown(
    overall, task, threshold, passed, failed
):
    (opinion,) = opinions(overall, dimension=(task,))

    found = judged(opinion, threshold)
    assert (found.passed, found.failed_dimensions) == (passed, failed)


def test_without_an_answer_nothing_is_decided():
    assert judged(None, 7).passed is None


def check(outcome, *dimensions):
    return CheckResult(check_id="c", kind="k", outcome=outcome, dimensions=dimensions)


def test_checks_give_ten_or_nothing_to_each_dimension_they_speak_for():
    found = check_scores([
        check("passed", "task", "process"),
        check("failed", "task"),
        check("passed", "task"),
        check("error", "spark"),
        check("error", "process"),
    ])  # fmt: skip

    assert found.known == {"process": 10, "task": pytest.approx(20 / 3)}

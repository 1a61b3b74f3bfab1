"""What sways judges, and where scores vary: against other packages and plain numpy."""

import numpy as np
import pytest
import scipy.stats

from analyze.judges.effects import (
    family_of,
    length_effects,
    place_effects,
    scores_of,
    self_preferences,
)
from analyze.judges.noise import components, kendall_tau, ranks, spreads, variance_splits
from analyze.judges.opinions import PairAnswer, TrialKey
from tests.analyze.judges.test_agreement import MAIN, SECOND, said


def pair(this_first, other_first, unit="s a"):
    return PairAnswer(MAIN, unit, this_first, other_first)


def test_who_is_preferred_in_one_place_only_is_a_flip():
    answers = [
        pair("this", "this"), pair("this", "other"), pair("this", "other", "s b"),
        pair("other", "this", "s b"), pair("tie", "this"), pair("cannot_say", "this"),
    ]  # fmt: skip

    (found,) = place_effects(answers)

    assert (found.n_comparisons, found.n_flips_to_first, found.n_flips_to_second) == (5, 2, 1)
    assert found.flip_rate == pytest.approx((1 / 3 + 1) / 2)
    assert found.leans_to is None


def test_a_lean_to_a_place_is_shown_by_a_sign_test_over_cases():
    six = [pair("this", "other", f"s {n}") for n in range(6)]
    five = six[:5]
    assert scipy.stats.binomtest(0, 6).pvalue < 0.05 < scipy.stats.binomtest(0, 5).pvalue

    assert next(place_effects(six)).leans_to == "first"
    assert next(place_effects(five)).leans_to is None
    repeated = five * 20
    assert next(place_effects(repeated)).leans_to is None, "repetitions are no cases"
    second = [pair("other", "this", f"s {n}") for n in range(6)]
    assert next(place_effects(second)).leans_to == "second"


def test_the_effect_of_length_is_that_of_statsmodels_with_clusters():
    import pandas as pd
    import statsmodels.formula.api as smf

    draws = np.random.default_rng(3)
    opinions, rows = [], []
    for case in range(12):
        for repetition in range(1, 5):
            n_chars = int(draws.integers(20, 4_000))
            score = 4 + 0.1 * case + 0.3 * np.log2(n_chars) + draws.normal()
            opinions.append(said(score, f"c{case}", repetition=repetition, n_chars=n_chars))
            rows.append((f"c{case}", np.log2(n_chars), score))

    (found,) = length_effects(scores_of(opinions))

    frame = pd.DataFrame(rows, columns=["case", "x", "y"])
    # CR1 of the within estimator: statsmodels on demeaned values, without a correction for k
    frame[["x", "y"]] -= frame.groupby("case")[["x", "y"]].transform("mean")
    fitted = smf.ols("y ~ x - 1", frame).fit(
        cov_type="cluster",
        cov_kwds={"groups": frame["case"].astype("category").cat.codes, "df_correction": True},
        use_t=True,
    )
    n, k, groups = len(frame), 1, 12
    scale = np.sqrt((n - k) / (n - 1))  # theirs has (n - 1) / (n - k) beside G / (G - 1)
    half = scipy.stats.t.ppf(0.975, groups - 1) * fitted.bse["x"] * scale
    assert found.points_per_doubling == pytest.approx(fitted.params["x"])
    assert found.high - found.points_per_doubling == pytest.approx(half, rel=1e-6)
    assert (found.n_trials, found.n_cases) == (48, 12)


def test_answers_of_one_length_say_nothing_of_it():
    opinions = [said(5 + n, f"c{n}", n_chars=10 * (n + 1)) for n in range(6)]
    assert list(length_effects(scores_of(opinions))) == []


@pytest.mark.parametrize(
    ("model", "family"),
    [("openai/gpt-5-mini", "gpt"), ("Claude-Sonnet", "claude"), ("qwen2.5:7b", "qwen"),
     ("7b", None)],
)  # fmt: skip
def test_a_family_is_what_a_name_begins_with(model, family):
    assert family_of(model) == family


def test_self_preference_is_what_others_do_not_see():
    """The judge of family gpt gives gpt answers 2 more than the other one does, in each case."""
    opinions = []
    for case in range(6):
        for subject, lift in (("gpt-4", 2), ("qwen3", 0)):
            fields = {"subject_model": subject}
            trial = TrialKey("r", subject, f"c{case}", 1)
            own = said(5 + case % 2 + lift, f"c{case}", trial=trial, judge_model="gpt-5", **fields)
            other = said(
                5 + case % 2, f"c{case}", by=SECOND, trial=trial, judge_model="claude-5", **fields
            )
            opinions += [own, other]

    (found,) = self_preferences(scores_of(opinions))

    assert (found.judge_run_id, found.family) == ("main", "gpt")
    assert (found.difference.mean, found.difference.n_units) == (2, 6)


def test_without_a_judge_of_another_family_nothing_is_said_of_the_own():
    opinions = [
        said(5, f"c{n}", by=by, judge_model="gpt-5", subject_model=subject,
             trial=TrialKey("r", subject, f"c{n}", 1))
        for n in range(6) for by in (MAIN, SECOND) for subject in ("gpt-4", "qwen3")
    ]  # fmt: skip
    assert list(self_preferences(scores_of(opinions))) == []


def balanced(draws, a=12, b=4, c=3, sds=(2.0, 1.0, 0.5)):
    case, agent, judge = sds
    return (
        5
        + draws.normal(0, case, (a, 1, 1))
        + draws.normal(0, agent, (a, b, 1))
        + draws.normal(0, judge, (a, b, c))
    )


def nested(values):
    return {
        f"c{i}": {TrialKey("r", "m", f"c{i}", j + 1): list(map(float, row))
                  for j, row in enumerate(trials)}
        for i, trials in enumerate(values)
    }  # fmt: skip


def test_of_equal_numbers_the_parts_are_those_of_the_textbook():
    """Mean squares by plain numpy; E = judge, E + c agent, E + c agent + b c case."""
    values = balanced(np.random.default_rng(1))
    a, b, c = values.shape
    trials, cases = values.mean(axis=2), values.mean(axis=(1, 2))
    judge = ((values - trials[:, :, None]) ** 2).sum() / (a * b * (c - 1))
    agent = c * ((trials - cases[:, None]) ** 2).sum() / (a * (b - 1))
    case = b * c * ((cases - values.mean()) ** 2).sum() / (a - 1)

    found = components(nested(values))

    assert found == pytest.approx(((case - agent) / (b * c), (agent - judge) / c, judge))


def test_of_unequal_numbers_the_parts_are_right_on_average():
    draws = np.random.default_rng(2)
    found = []
    for _ in range(300):
        values = nested(balanced(draws, a=15))
        uneven = {
            unit: {
                trial: some[: 1 + (n + i) % 3]
                for n, (trial, some) in enumerate(list(trials.items())[: 1 + i % 4])
            }
            for i, (unit, trials) in enumerate(values.items())
        }
        found.append(components(uneven))
    case, agent, judge = np.mean(found, axis=0)
    assert (case, agent, judge) == pytest.approx((4, 1, 0.25), rel=0.12)


def test_what_nothing_was_repeated_for_is_not_known():
    once = [said(5 + n, f"c{n}") for n in range(4)]
    (found,) = variance_splits(once)
    assert (found.agent_sd, found.judge_sd) == (None, None)
    assert found.case_sd == pytest.approx(np.std([5, 6, 7, 8], ddof=1))

    (alone,) = variance_splits([said(5), said(7, iteration=2)])
    assert (alone.case_sd, alone.agent_sd) == (None, None)
    assert alone.judge_sd == pytest.approx(2**0.5)


def test_trials_of_several_minds_come_widest_first():
    opinions = [
        said(5, "a"), said(6, "a", iteration=2), said(2, "b"), said(9, "b", iteration=2),
        said(4, "c"), said(4, "c", iteration=2), said(1, "d"),
    ]  # fmt: skip
    assert [(one.case_id, one.low, one.high) for one in spreads(opinions)] == [
        ("b", 2, 9), ("a", 5, 6),
    ]  # fmt: skip


def test_models_that_two_judges_order_otherwise_are_named():
    opinions = [
        said(score, f"c{case}", by=by, trial=TrialKey("r", model, f"c{case}", 1))
        for case in range(3)
        for by, means in ((MAIN, {"x": 4, "y": 6, "z": 8}), (SECOND, {"x": 7, "y": 5, "z": 8}))
        for model, score in means.items()
    ]

    ((rank, reversals),) = ranks(scores_of(opinions))

    assert (rank.n_models, rank.tau) == (3, None)
    (one,) = reversals
    assert (one.model_ids, one.differences) == (("x", "y"), (2, -2))


def test_only_cases_that_all_models_share_order_them():
    opinions = [said(5, "a", by=by, trial=TrialKey("r", "x", "a", 1)) for by in (MAIN, SECOND)] + [
        said(6, "b", by=by, trial=TrialKey("r", "y", "b", 1)) for by in (MAIN, SECOND)
    ]
    assert list(ranks(scores_of(opinions))) == []


def test_tau_is_that_of_scipy():
    draws = np.random.default_rng(4)
    for _ in range(20):
        pairs = [tuple(map(float, row)) for row in draws.integers(0, 5, (7, 2))]
        first, second = zip(*pairs, strict=True)
        assert kendall_tau(pairs) == pytest.approx(scipy.stats.kendalltau(first, second).statistic)
    assert kendall_tau([(1, 2), (1, 3)]) is None

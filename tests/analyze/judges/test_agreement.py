"""Agreement of judges: as the package has it, by hand, and where nothing can be said."""

import krippendorff
import numpy as np
import pytest

from analyze.judges.agreement import LEVELS, agreement_between, agreement_within
from analyze.judges.opinions import Opinion, RunKey, TrialKey
from analyze.judges.resampling import drawn_cases, interval_alphas, ordinal_alphas

MAIN = RunKey("strict", "main", "large")
SECOND = RunKey("strict", "second", "small")
THIRD = RunKey("strict", "third", "tiny")


def said(score, case="a", by=MAIN, iteration=1, repetition=1, **fields):
    known = {
        "by": by, "iteration": iteration, "trial": TrialKey("r", "m", case, repetition),
        "unit": f"s {case}", "judge_model": "x", "subject_model": "y", "score": score,
        "threshold": None, "verdicts": {}, "n_chars": 10,
    }  # fmt: skip
    return Opinion(**(known | fields))


def asked_again(scores):
    """Rows are trials, columns iterations; None: the judge failed."""
    return [
        said(score, f"c{row}", iteration=column + 1)
        for row, some in enumerate(scores)
        for column, score in enumerate(some)
        if score is not None
    ]


def test_within_a_judge_run_iterations_are_coders():
    scores = [(5, 6, 5), (9, 9, 8), (2, 4, None), (7, 7, 7), (1, None, None)]

    (found,) = agreement_within(asked_again(scores))

    matrix = np.array(scores, dtype=float)[:4].T
    assert found.alpha == pytest.approx(krippendorff.alpha(matrix, level_of_measurement="interval"))
    assert (found.scope, found.of, found.n_units, found.n_cases) == ("within", "score", 4, 4)
    # pairs: 1 0 1 | 0 1 1 | 2 | 0 0 0
    assert found.mean_absolute_difference == pytest.approx(6 / 10)
    assert found.within_one_point == pytest.approx(9 / 10)
    # last minus first: 0 -1 2 0
    assert found.bias.mean == pytest.approx(0.25)
    assert (found.bias.low, found.alpha_low) == (None, None), "too few cases"


def test_alpha_of_a_published_table():
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C and E."""
    nan = None
    coders = [
        (1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan),
        (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3),
        (nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan),
        (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan),
    ]
    units = list(zip(*coders, strict=True))

    (found,) = agreement_within(asked_again(units))

    assert found.alpha == pytest.approx(0.849, abs=5e-4)


def test_expectations_are_ordinal_and_cannot_say_is_counted_and_no_unit():
    ranks = {"missed": 0, "partly": 1, "met": 2}
    table = [("met", "met"), ("partly", "missed"), ("missed", "missed"), ("cannot_say", "met")]
    opinions = [
        said(5, f"c{row}", iteration=column + 1, verdicts={"e": verdict, "f": "met"})
        for row, some in enumerate(table)
        for column, verdict in enumerate(some)
    ]

    scores, found = agreement_within(opinions)

    assert scores.alpha is None, "no score differs"
    units = [[ranks[a], ranks[b]] for a, b in table[:3]] + [[2, 2]] * 4
    assert found.alpha == pytest.approx(
        krippendorff.alpha(np.array(units).T, level_of_measurement="ordinal")
    )
    assert (found.of, found.n_units, found.n_cannot_say) == ("expectations", 7, 1)
    assert (found.bias, found.within_one_point) == (None, None)


def test_passes_are_nominal_by_the_threshold():
    table = [(6, 4), (9, 5), (1, 2), (8, 8)]
    opinions = [
        said(score, f"c{row}", iteration=column + 1, threshold=5)
        for row, some in enumerate(table)
        for column, score in enumerate(some)
    ]

    _, found = agreement_within(opinions)

    passes = np.array([[1, 0], [1, 1], [0, 0], [1, 1]]).T
    assert found.of == "pass"
    assert found.alpha == pytest.approx(krippendorff.alpha(passes, level_of_measurement="nominal"))


def test_between_judges_there_is_a_bias_with_its_interval():
    """Second minus main: 1 1 2 1 0 1 over six cases: mean 1, s = 0.632, t(0.975, 5) = 2.5706."""
    opinions = [
        said(score, f"c{row}", by=by)
        for row, pair in enumerate([(5, 6), (4, 5), (6, 8), (7, 8), (3, 3), (8, 9)])
        for by, score in zip((MAIN, SECOND), pair, strict=True)
    ]

    (found,) = agreement_between(opinions)

    half = 2.570582 * 0.632456 / 6**0.5
    assert (found.scope, found.judge_run_ids) == ("between", ("main", "second"))
    assert found.judge_ids == ("large", "small")
    assert (found.bias.mean, found.bias.n_units) == (1, 6)
    assert found.bias.low == pytest.approx(1 - half, rel=1e-5)
    assert found.bias.high == pytest.approx(1 + half, rel=1e-5)


def test_of_three_judges_each_pair_has_its_bias():
    opinions = [
        said(5 + n + row % 2, f"c{row}", by=by)
        for row in range(6)
        for n, by in enumerate((MAIN, SECOND, THIRD))
    ]

    found = list(agreement_between(opinions))

    assert [one.judge_run_ids for one in found] == [
        ("main", "second", "third"), ("main", "second"), ("main", "third"), ("second", "third"),
    ]  # fmt: skip
    assert [None if one.bias is None else one.bias.mean for one in found] == [None, 1, 2, 1]


def test_trials_of_a_cluster_are_one_case_of_the_bias_and_of_the_bootstrap():
    opinions = [
        said(5 + (column if row < 20 else -column), f"c{row}", iteration=column + 1,
             unit="s same" if row < 20 else f"s c{row}")
        for row in range(23)
        for column in range(2)
    ]  # fmt: skip

    (found,) = agreement_within(opinions)

    assert (found.n_units, found.n_cases) == (23, 4)
    assert found.bias.mean == pytest.approx((1 - 3) / 4)
    assert found.alpha_low is None


def test_profiles_are_never_mixed():
    other = RunKey("kind", "main", "large")
    opinions = [said(5 + n, f"c{n}", by=by) for n in range(3) for by in (MAIN, other)]

    assert list(agreement_between(opinions)) == []
    assert list(agreement_within(opinions)) == []


@pytest.mark.peers
def test_the_bootstrap_covers_the_alpha_of_the_population():
    """Scores of a normal model with a known share of the variance: alpha is that share."""
    draws, held, n_draws, widths = np.random.default_rng(5), 0, 150, []
    for _ in range(n_draws):
        levels = draws.normal(0, 2, (40, 1))
        scores = levels + draws.normal(0, 1, (40, 3))
        (found,) = agreement_within(asked_again(scores.tolist()))
        held += found.alpha_low <= 0.8 <= found.alpha_high
        widths.append(found.alpha_high - found.alpha_low)
    assert held / n_draws >= 0.88, "said to be approximate"
    assert np.mean(widths) < 0.25


@pytest.mark.parametrize(
    ("of", "values"), [("score", range(11)), ("pass", (0, 1)), ("expectations", (0, 1, 2))]
)
def test_alphas_of_draws_are_those_of_the_package_on_the_drawn_units(of, values):
    """Cases have several units, and units two to four values."""
    draws = np.random.default_rng(5)
    cases = [
        [
            [float(one) for one in draws.choice(values, size=draws.integers(2, 5))]
            for _ in range(draws.integers(1, 4))
        ]
        for _ in range(12)
    ]
    weights = drawn_cases(len(cases), 25, 1)

    found = (
        ordinal_alphas(cases, weights, 3)
        if of == "expectations"
        else interval_alphas(cases, weights)
    )

    for alpha, weight in zip(found, weights, strict=True):
        units = [unit for case, n in zip(cases, weight, strict=True) for unit in case * int(n)]
        matrix = np.array([unit + [np.nan] * (4 - len(unit)) for unit in units]).T
        assert alpha == pytest.approx(krippendorff.alpha(matrix, level_of_measurement=LEVELS[of]))
    assert len(set(found)) > 20


def test_draws_in_which_nothing_varies_have_no_alpha():
    weights = drawn_cases(3, 4, 1)

    assert np.isnan(interval_alphas([[[5.0, 5.0]]] * 3, weights)).all()
    assert np.isnan(ordinal_alphas([[[1.0, 1.0]]] * 3, weights, 3)).all()

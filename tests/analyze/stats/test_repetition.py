"""pass@k and pass^k against counting by hand, and what identical answers do to them."""

import itertools

import pytest

from analyze.stats.rates import (
    pass_at_k,
    pass_curve,
    pass_hat_k,
    repetitions_identical,
    steps_of_k,
)


@pytest.mark.parametrize("m", range(1, 7))
def test_values_equal_the_share_of_all_draws(m):
    for c, k in itertools.product(range(m + 1), range(1, m + 1)):
        draws = list(itertools.combinations([True] * c + [False] * (m - c), k))

        assert pass_at_k(m, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))
        assert pass_hat_k(m, c, k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize(
    ("most", "steps"),
    [
        (0, ()),
        (1, (1,)),
        (3, (1, 2, 3)),
        (4, (1, 2, 3, 4)),
        (10, (1, 2, 3, 5, 10)),
        (60, (1, 2, 3, 5, 10, 20, 30, 50, 60)),
    ],
)
def test_steps_end_at_the_most_repeated_case(most, steps):
    assert steps_of_k(most) == steps


def test_cases_with_fewer_trials_are_counted_and_left_out():
    curve = pass_curve(pass_at_k, [3, 3, 1, 0], [1, 3, 0, 0], identical=False)

    assert [(point.k, point.n_cases, point.n_cases_short) for point in curve] == [
        (1, 3, 1),
        (2, 2, 2),
        (3, 2, 2),
    ]
    assert curve[2].value == 1
    assert curve[0].value == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_effective_trials_are_limited_by_whole_draws():
    """Three trials a case hold one draw of two: not more than one effective trial a case."""
    curve = pass_curve(pass_hat_k, [3] * 4, [1, 2, 2, 3], identical=False)

    assert curve[0].ci95.n_eff > 4
    assert curve[1].ci95.n_eff <= 4
    assert curve[2].ci95.n_eff <= 4


def test_k_of_1_has_the_interval_of_the_rate_when_repetitions_are_equal():
    (first, *_) = pass_curve(pass_at_k, [3] * 6, [3, 3, 2, 0, 3, 1], identical=False)

    assert first.ci95.n_eff == pytest.approx(7.8261, abs=5e-5)
    assert first.ci95.low == pytest.approx(0.3358, abs=5e-5)


def test_identical_repetitions_count_as_one_trial():
    (only,) = pass_curve(pass_hat_k, [5] * 4, [5, 5, 0, 5], identical=True)

    assert (only.k, only.value) == (1, 0.75)
    assert only.ci95.n_eff == 4


def test_one_case_has_a_value_and_no_interval():
    (point,) = pass_curve(pass_at_k, [1], [1], identical=False)

    assert (point.value, point.ci95) == (1, None)


@pytest.mark.parametrize(
    ("repeated", "identical", "expected"),
    [(0, 0, None), (20, 19, True), (20, 18, False), (1, 1, True), (1, 0, False)],
)
def test_95_percent_of_repeated_cases_decide(repeated, identical, expected):
    assert repetitions_identical(repeated, identical) is expected

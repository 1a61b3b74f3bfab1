"""Agreement of people: Cohen's kappa and Gwet's AC1, by published tables and plain counting."""

import itertools

import numpy as np
import pytest

from analyze.judges.agreement import verdict_agreement


def table(both, first, second, neither):
    """Return trials of two annotators by what they said."""
    counts = zip(((1, 1), (1, 0), (0, 1), (0, 0)), (both, first, second, neither), strict=True)
    return [{"ann": a, "bob": b} for (a, b), n in counts for _ in range(n)]


def test_the_paradox_of_kappa_is_not_one_of_ac1():
    """118, 5, 2 and 0 of 125 (Gwet 2008): kappa is below 0 where 94 % are the same."""
    found = verdict_agreement(table(118, 5, 2, 0))

    assert found.same == pytest.approx(0.944)
    assert found.kappa == pytest.approx(-0.0234, abs=5e-5)
    assert found.ac1 == pytest.approx(0.9408, abs=5e-5)
    assert found.pass_share == pytest.approx((2 * 118 + 5 + 2) / 250)


def test_even_shares_give_both_the_same():
    found = verdict_agreement(table(40, 10, 10, 40))

    assert (found.kappa, found.ac1) == (pytest.approx(0.6), pytest.approx(0.6))


def test_several_annotators_are_counted_pair_by_pair():
    draws = np.random.default_rng(4)
    trials = [
        {name: int(draws.random() < 0.7) for name in draws.permutation(list("abcd"))[:n]}
        for n in draws.integers(1, 5, size=60)
    ]

    found = verdict_agreement(trials)

    shared = [list(said.values()) for said in trials if len(said) > 1]
    same = np.mean([np.mean([a == b for a, b in itertools.combinations(one, 2)]) for one in shared])
    passing = np.mean([np.mean(one) for one in shared])
    chance = 2 * passing * (1 - passing)
    assert found.n_shared == len(shared)
    assert found.same == pytest.approx(same)
    assert found.ac1 == pytest.approx((same - chance) / (1 - chance))
    assert found.kappa is None, "of two alone"


def test_one_annotator_agrees_with_nobody_and_one_verdict_has_no_kappa():
    assert verdict_agreement([{"ann": 1}, {"bob": 0}]) is None
    always = verdict_agreement(table(9, 0, 0, 0))
    assert (always.same, always.kappa, always.ac1) == (1, None, 1)

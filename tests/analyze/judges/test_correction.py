"""Corrected pass rates: as plain numpy has them, by hand, and how often they hold the truth."""

import itertools

import numpy as np
import pytest

from analyze.judges.correction import (
    MIN_LABELS,
    Confusion,
    LabelledCase,
    ppi,
    rogan_gladen,
    youden_low,
)

QUALITIES = (0.7, 0.8, 0.9, 0.98)
PREVALENCES = (0.2, 0.4, 0.6, 0.9)


def drawn(draws, n, n_others, seen, spared, prevalence):
    """Labels of all cases and verdicts of a judge with that sensitivity and specificity."""
    labels = draws.random(n + n_others) < prevalence
    passes = np.where(labels, draws.random(labels.size) < seen, draws.random(labels.size) >= spared)
    return labels.astype(float), passes.astype(float)


def cases(labels, verdicts):
    return [LabelledCase(*map(float, pair)) for pair in zip(labels, verdicts, strict=True)]


def test_the_estimate_is_that_of_plain_numpy():
    labels, verdicts = drawn(np.random.default_rng(1), 80, 300, 0.9, 0.8, 0.6)
    n, others = 80, 300
    y, f, rest = labels[:n], verdicts[:n], verdicts[n:]
    weight = np.cov(y, f)[0, 1] / ((1 + n / others) * np.var(verdicts, ddof=1))
    assert 0 < weight < 1

    found = ppi(cases(y, f), rest.tolist())

    assert found.estimate == pytest.approx(y.mean() - weight * (f.mean() - rest.mean()))
    assert found.low < found.estimate < found.high


def test_a_judge_that_says_nothing_leaves_the_labels_alone():
    labels = np.array([1.0, 0.0] * 40)
    found = ppi(cases(labels, np.ones(80)), [1.0] * 200)
    assert found.estimate == 0.5


def test_rogan_gladen_is_the_formula_of_lang_and_reiczigel():
    """By hand: Se 46/50, Sp 40/50, 60 of 100 passed; z^2 = 3.841459."""
    z2 = 3.841458820694124
    seen, spared, shown = 47 / 52, 41 / 52, (60 + z2 / 2) / (100 + z2)
    power = seen + spared - 1
    rate = (shown + spared - 1) / power
    of_seen, of_spared = seen * (1 - seen) / 52, spared * (1 - spared) / 52
    shift = 2 * z2 * (rate * of_seen - (1 - rate) * of_spared)
    error = (
        shown * (1 - shown) / (100 + z2) + rate**2 * of_seen + (1 - rate) ** 2 * of_spared
    ) ** 0.5 / power

    found = rogan_gladen(Confusion(46, 4, 10, 40), 100, 0.6)

    assert found.estimate == pytest.approx(rate)
    assert found.low == pytest.approx(rate + shift - z2**0.5 * error)
    assert found.high == pytest.approx(rate + shift + z2**0.5 * error)


@pytest.mark.parametrize(
    "table", [Confusion(12, 8, 9, 11), Confusion(30, 30, 30, 30), Confusion(10, 40, 40, 10)]
)
def test_a_judge_that_may_be_no_better_than_chance_corrects_nothing(table):
    assert youden_low(table) <= 0
    assert rogan_gladen(table, 500, 0.5) is None


@pytest.mark.parametrize("table", [Confusion(60, 0, 0, 0), Confusion(0, 0, 5, 55)])
def test_without_labels_of_both_kinds_the_judge_is_not_known(table):
    assert youden_low(table) is None
    assert rogan_gladen(table, 500, 0.5) is None


@pytest.mark.peers
@pytest.mark.parametrize(
    ("n", "n_others", "mean", "worst"),
    [
        (MIN_LABELS, 100, 0.91, 0.88),
        (100, 100, 0.93, 0.88),
        (100, 1_000, 0.93, 0.88),
        (200, 100, 0.93, 0.88),
    ],
)
def test_corrected_rates_hold_the_truth(n, n_others, mean, worst):
    """Over sensitivity and specificity 0.7 to 0.98 and prevalence 0.2 to 0.9."""
    draws, held = np.random.default_rng(n + n_others), {"ppi": [], "rogan": []}
    for seen, spared, prevalence in itertools.product(QUALITIES, QUALITIES, PREVALENCES):
        hits = {name: [] for name in held}
        for _ in range(300):
            labels, verdicts = drawn(draws, n, n_others, seen, spared, prevalence)
            y, f = labels[:n], verdicts[:n]
            found = ppi(cases(y, f), verdicts[n:].tolist())
            hits["ppi"].append(found.low <= prevalence <= found.high)
            table = Confusion(
                int((y * f).sum()), int((y * (1 - f)).sum()), int(((1 - y) * f).sum()),
                int(((1 - y) * (1 - f)).sum()),
            )  # fmt: skip
            other = rogan_gladen(table, n + n_others, float(verdicts.mean()))
            if other is not None:
                hits["rogan"].append(other.low <= prevalence <= other.high)
        for name, some in hits.items():
            if len(some) > 100:
                held[name].append(np.mean(some))
    for name, some in held.items():
        assert np.mean(some) >= mean, name
        assert np.min(some) >= worst, name

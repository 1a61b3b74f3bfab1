"""Splits of single cells: an independent implementation, and hostile histories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyze.stats.changepoints.cells import CellSplit, cell_splits

RUN = st.integers(0, 4).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))
CELL = st.lists(RUN, max_size=30).map(
    lambda runs: ([k for k, _ in runs], [m for _, m in runs]),
)


def cell_shifts(k, m):
    (found,) = cell_splits([(k, m)])
    return found


def naive(k, m):
    """Every split in turn by SciPy's hypergeometric distribution."""
    runs = [at for at, trials in enumerate(m) if trials]
    best = None
    for split in range(3, len(runs) - 2):
        before, after = runs[:split], runs[split:]
        passed, scored = sum(k[at] for at in before), sum(m[at] for at in before)
        table = stats.hypergeom(sum(m), sum(k), scored)
        tail = min(table.cdf(passed), table.sf(passed - 1))
        if best is None or tail < best[0] * (1 - 1e-9):
            best = (tail, after[0], passed, scored)
    if best is None:
        return None
    tail, at, passed, scored = best
    p = min(1.0, 2 * tail * (len(runs) - 5))
    return CellSplit(at, p, passed, scored, sum(k) - passed, sum(m) - scored)


@given(CELL)
def test_the_best_split_is_that_of_an_independent_implementation(cell):
    expected, found = naive(*cell), cell_shifts(*cell)

    if expected is None:
        assert found is None
        return
    assert found.p == pytest.approx(expected.p, rel=1e-7)
    assert (found.at, found.before_passed, found.before_scored) == (
        expected.at,
        expected.before_passed,
        expected.before_scored,
    )
    assert (found.after_passed, found.after_scored) == (
        expected.after_passed,
        expected.after_scored,
    )


@given(st.lists(CELL, max_size=6))
def test_many_cells_at_once_are_the_same_as_one_by_one(cells):
    together = cell_splits(cells)

    for found, cell in zip(together, cells, strict=True):
        alone = cell_shifts(*cell)
        assert (found is None) == (alone is None)
        if found:
            assert found.at == alone.at
            assert found.p == pytest.approx(alone.p, rel=1e-9)


def test_a_cell_that_breaks_for_good_is_dated_to_its_first_bad_run():
    found = cell_shifts([3] * 20 + [0] * 5, [3] * 25)

    assert found.at == 20
    assert found.p < 1e-8
    assert (found.before_passed, found.before_scored) == (60, 60)
    assert (found.after_passed, found.after_scored) == (0, 15)


def test_a_cell_that_is_repaired_is_dated_too():
    found = cell_shifts([0] * 9 + [2] * 9, [2] * 18)

    assert (found.at, found.after_passed) == (9, 18)
    assert found.p < 1e-6


def test_runs_without_a_verdict_are_no_points():
    k, m = [2, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0], [2, 2, 0, 2, 0, 2, 0, 2, 2, 2, 2]
    packed = cell_shifts([passed for passed, trials in zip(k, m, strict=True) if trials], [2] * 8)

    found = cell_shifts(k, m)

    assert found.at == 7, "the first run that has a verdict after the split"
    assert found.p == packed.p


@pytest.mark.parametrize("m", [[], [0] * 50, [1] * 5, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]])
def test_fewer_than_six_runs_with_a_verdict_have_no_split(m):
    assert cell_shifts(m, m) is None


@pytest.mark.parametrize("passes", [0, 2])
def test_a_cell_that_never_changes_has_no_shift(passes):
    found = cell_shifts([passes] * 40, [2] * 40)

    assert found.p == 1
    assert found.at == 3


def test_the_earlier_of_two_equal_splits_counts():
    assert cell_shifts([1, 1, 1, 0, 0, 0, 1, 1, 1], [1] * 9).at == 3


def test_thousands_of_trials_keep_their_digits():
    k, m = [900] * 6 + [850] * 6, [1000] * 12
    table = stats.hypergeom(12_000, 10_500, 6_000)

    found = cell_shifts(k, m)

    assert found.at == 6
    assert found.p == pytest.approx(2 * 7 * table.sf(5_399), rel=1e-7)


def test_unchanged_cells_rarely_look_shifted():
    rng = np.random.default_rng(20)
    passed = rng.binomial(2, 0.7, size=(500, 40))

    found = cell_splits([(k, np.full(40, 2)) for k in passed])

    assert sum(split.p < 0.05 for split in found) <= 0.05 * 500


def test_no_cells_have_no_splits():
    assert cell_splits([]) == []


@pytest.mark.parametrize(("k", "m"), [([1, 1], [1]), ([[1]], [[1]])])
def test_counts_of_different_runs_are_our_own_mistake(k, m):
    with pytest.raises(ValueError, match="two counts a run"):
        cell_shifts(k, m)


def test_a_shift_too_sure_for_a_float_stands_where_it_is():
    k = [4_000] * 40 + [1_000] * 20

    split = cell_shifts(k, [5_000] * 60)

    assert split is not None
    assert (split.at, split.p) == (40, 0.0)

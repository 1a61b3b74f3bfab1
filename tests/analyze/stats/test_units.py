"""Cases to units: sums, means and columns, whatever the clusters are called."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.stats.changepoints.rates import unit_columns
from analyze.stats.intervals import n_clusters, unit_means, unit_places, unit_sums, wilson_shrunk
from analyze.stats.rates import case_rate, interval_of_units

CLUSTERS = ["b", None, "a", "b", None, "a", "b"]


def test_units_come_in_the_order_of_their_first_cases():
    assert unit_places(CLUSTERS) == [0, 1, 2, 0, 3, 2, 0]
    assert n_clusters(CLUSTERS) == 4, "a case without a cluster is a unit as well"
    assert n_clusters([None, None]) is None
    assert n_clusters([]) is None
    assert unit_sums(CLUSTERS, [1, 2, 3, 4, 5, 6, 7], [10] * 7) == (
        [12, 2, 9, 5], [30, 10, 20, 10],
    )  # fmt: skip
    assert unit_means(CLUSTERS, [1.0, 2, 3, 4, 5, 6, 7]) == [4.0, 2.0, 4.5, 5.0]


def test_without_clusters_nothing_changes():
    counts = [3, 0, 1], [3, 3, 3]
    assert unit_sums([None] * 3, *counts) == counts
    assert unit_means([None] * 3, [0.5, 0.25, 0.1]) == [0.5, 0.25, 0.1]
    assert interval_of_units([None] * 3, *counts) == wilson_shrunk(*counts)
    assert case_rate(*counts) == case_rate(*counts, [None] * 3)
    hashes = np.array([[1, -1, 3]])
    assert unit_columns([None] * 3, hashes, hashes)[0] is hashes
    assert unit_sums([]) == ()


def test_counts_that_are_not_one_a_case_are_refused():
    with pytest.raises(ValueError, match="3 cases need as many counts, got \\[3, 2\\]"):
        unit_sums(["a", None, "a"], [1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="shorter"):
        unit_means(["a", None], [1.0])


NAMES = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None)
@given(NAMES, st.randoms(use_true_random=False))
def test_sums_and_means_are_those_of_a_plain_loop(clusters, random):
    k = [random.randint(0, 5) for _ in clusters]
    members = {}
    for number, name in enumerate(clusters):
        members.setdefault(name or number, []).append(k[number])

    assert unit_sums(clusters, k) == ([sum(some) for some in members.values()],)
    assert unit_means(clusters, k) == pytest.approx([np.mean(some) for some in members.values()])
    hashes = np.zeros((1, len(k)), np.int64)
    _, columns = unit_columns(clusters, hashes, np.array([k]))
    assert columns[0].tolist() == [sum(some) for some in members.values()]


def test_an_interval_of_clusters_counts_cases_and_rests_on_units():
    clusters = ["a", "a", "a", "b", "b", None, "gone"]
    found = interval_of_units(clusters, [3, 3, 2, 0, 1, 3, 0], [3, 3, 3, 3, 3, 3, 0])
    of_sums = wilson_shrunk([8, 1, 3], [9, 6, 3])

    assert (found.n_cases, found.n_clusters, found.n_trials) == (6, 3, 18)
    assert (found.low, found.high, found.n_eff) == (of_sums.low, of_sums.high, of_sums.n_eff)
    assert interval_of_units(["a", "a"], [1, 1], [1, 1]) is None, "one unit says nothing of others"
    assert interval_of_units(["a"], [0], [0]) is None


def test_columns_of_a_unit_are_another_version_when_one_of_its_cases_is():
    hashes = np.array(
        [
            [5, 9, 7, 7],
            [5, 9, 7, 7],
            [6, 9, 7, 7],  # one case of the cluster was edited
            [-1, 9, 7, 7],  # and was not planned
            [9, 5, 7, 7],  # two contents changed places
            [-1, -1, 7, -1],
        ]
    )
    found, k = unit_columns(["a", "a", None, "b"], hashes, np.ones((6, 4), np.int64))

    assert found.shape == (6, 3)
    first = found[:, 0]
    assert first[0] == first[1]
    assert len(set(first[1:].tolist())) == 5
    assert first[5] == -1
    assert (first[:5] >= 0).all()
    assert found[:, 1].tolist() == [7] * 6, "a case that stands alone keeps its hash"
    assert found[:, 2].tolist() == [7] * 5 + [-1], "as does a cluster of a single case"
    assert k.tolist() == [[2, 1, 1]] * 6

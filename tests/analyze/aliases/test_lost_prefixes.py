"""Prompt lists whose ids lost their prefix keep their history, without anybody's doing."""

import pytest

from analyze.aliases import join_cases, separate_cases
from analyze.lake.sync import sync
from analyze.query.session import Session
from schemas.lake import read_aliases
from tests.support.compared_runs import Runs
from tests.support.run_rows import sha

TWO_LISTS = {"configs/suites/smoke.yaml": "", "configs/suites/One.json": "", "x/two.jsonl": ""}


@pytest.fixture
def runs(new_run):
    """Runs of a suite with two prompt lists; a prompt is hashed by what follows the prefix."""
    made = Runs(new_run)

    def add(run_id, day, *cases, hashes=lambda case_id: case_id.rpartition("--")[2], **config):
        made.add(
            run_id, day, cases=cases, config_files=TWO_LISTS,
            plan=lambda case_id, repetition, model_id: {"case_hash": sha(hashes(case_id))},
            **config,
        )  # fmt: skip

    made.another = add
    return made


def names(runs):
    known = read_aliases(runs.runs_dir / "lake")
    return {old: (row.case_id or old, row.origin) for (_, old), row in known.items()}


def test_ids_without_their_prefix_are_joined_with_those_that_had_it(runs):
    runs.another("mon", 1, "one--p0", "one--p1", "two--p2")
    runs.another("tue", 2, "p0", "p1", "p2")

    sync(runs.runs_dir)

    assert names(runs) == {
        "one--p0": ("p0", "prompt_list"),
        "one--p1": ("p1", "prompt_list"),
        "two--p2": ("p2", "prompt_list"),
    }
    with Session(runs.runs_dir, threads=1) as session:
        assert session.rows("select case_id, n_runs from cases order by all") == [
            ("p0", 2), ("p1", 2), ("p2", 2),
        ]  # fmt: skip


def test_a_prefix_that_came_and_went_splits_no_history(runs):
    """One list, then two with a prefix each, as it once was, then two without."""
    runs.another("mon", 1, "p0")
    runs.another("tue", 2, "one--p0", "two--p1")
    runs.another("wed", 3, "p0", "p1")

    sync(runs.runs_dir)

    assert names(runs) == {"one--p0": ("p0", "prompt_list"), "two--p1": ("p1", "prompt_list")}


@pytest.mark.parametrize(
    ("first", "second", "fields"),
    [
        (["one--p0"], ["p0", "one--p0"], {}),  # both are asked: two cases
        (["one--p0"], ["p0"], {"hashes": str.upper}),  # another content
        (["three--p0"], ["p0"], {}),  # no list of that name
        (["p0"], ["two--p0"], {}),  # the prefix came: a clash
        (["one--p0"], ["p0"], {"suite_id": "other"}),
    ],
)
def test_what_is_another_case_is_joined_to_nothing(runs, first, second, fields):
    runs.another("mon", 1, *first)
    runs.another("tue", 2, *second, **fields)

    sync(runs.runs_dir)

    assert names(runs) == {}


def test_what_people_took_back_stays_apart(runs):
    runs.another("mon", 1, "one--p0", "one--p1")
    runs.another("wed", 3, "p0", "p1")
    sync(runs.runs_dir)
    assert set(names(runs)) == {"one--p0", "one--p1"}
    with Session(runs.runs_dir, threads=1) as session:
        separate_cases(session, "smoke", "one--p0", "p0")
    runs.another("thu", 4, "p0", "p1")
    sync(runs.runs_dir)

    assert names(runs)["one--p0"] == ("one--p0", "prompt_list")
    assert names(runs)["one--p1"] == ("p1", "prompt_list")
    with Session(runs.runs_dir, threads=1) as session:
        assert join_cases(session, "smoke", "one--p0", "p0")
    assert names(runs)["one--p0"] == ("p0", "person")

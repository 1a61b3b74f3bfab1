"""Which runs the two sides of a comparison mean."""

import pytest

from analyze.comparison.evidence.run_sets import SIDE_WORDS, ChosenSide, resolve_sides
from analyze.lake.sync import sync
from analyze.query.session import Session
from schemas.errors import EXIT_CANNOT_JUDGE, EXIT_USAGE, ConfigError, RunNotFound
from tests.support import histories
from tests.support.compared_runs import Runs

pytestmark = pytest.mark.usefixtures("warm_engines")


@pytest.fixture
def runs(new_run):
    return Runs(new_run)


@pytest.fixture(scope="module")
def nights(shared_run):
    return four_nights(Runs(shared_run))


def four_nights(runs):
    """Four nights of one suite, one of another in between, and a model that began late."""
    runs.add("mon", 0, models=("m1", "m2"))
    runs.add("tue", 1, models=("m1", "m2"), labels=["release"])
    runs.add("other", 2, suite_id="other")
    runs.add("wed", 3, models=("m1",))
    runs.add("thu", 4, models=("m1", "m2", "m3"))
    return runs


def sides(runs, *args, **options):
    with Session(runs.runs_dir) as session:
        return resolve_sides(session, *args, **options)


def ids(chosen: ChosenSide):
    return list(chosen.run_ids)


def test_two_run_ids_mean_themselves_and_every_model(nights):
    base, candidate = sides(nights, "mon", "tue")

    assert (base, candidate) == (ChosenSide("mon", ("mon",)), ChosenSide("tue", ("tue",)))


def test_the_candidate_is_the_newest_run_when_nothing_is_said(nights):
    _, candidate = sides(nights, "mon")

    assert (candidate.asked, ids(candidate)) == ("latest", ["thu"])


def test_previous_is_the_run_before_in_the_candidates_suite_for_each_model_apart(nights):
    base, _ = sides(nights, "previous")

    assert base.only == {"m1": {"wed"}, "m2": {"tue"}}
    assert ids(base) == ["tue", "wed"]


def test_previous_of_an_older_run_is_before_that_one(nights):
    base, candidate = sides(nights, "previous", "tue")

    assert (ids(base), ids(candidate)) == (["mon"], ["tue"])


def test_last_n_takes_the_last_runs_before_the_candidate_as_far_as_there_are_any(nights):
    base, _ = sides(nights, "last:2")
    more, _ = sides(nights, "last:9")

    assert base.only == {"m1": {"tue", "wed"}, "m2": {"mon", "tue"}}
    assert more.only == {"m1": {"mon", "tue", "wed"}, "m2": {"mon", "tue"}}
    assert ids(more) == ["mon", "tue", "wed"]


def test_latest_as_a_base_is_of_the_candidates_suite(nights):
    base, _ = sides(nights, "latest", "mon")

    assert ids(base) == ["thu"]


def test_latest_and_previous_skip_runs_that_did_not_ask_the_model(runs):
    nights = four_nights(runs)
    base, candidate = sides(nights, "previous", model="m2")

    assert (ids(base), ids(candidate)) == (["tue"], ["thu"])
    nights.add("fri", 5, models=("m1",))
    base, candidate = sides(nights, "previous", model="model-m2")
    assert (ids(base), ids(candidate)) == (["tue"], ["thu"])
    assert (base.model, candidate.model) == ("model-m2", "model-m2")


def test_a_model_that_got_another_name_is_looked_for_by_what_it_is(runs):
    runs.add("old", 0, models=("was=llama", "else=qwen"))
    runs.add("new", 1, models=("is=llama", "else=qwen"))

    base, _ = sides(runs, "previous")

    assert base.only == {"was": {"old"}, "else": {"old"}}


def test_a_model_that_got_another_name_is_not_guessed_among_two(runs):
    runs.add("old", 0, models=("one=llama", "two=llama", "else=qwen"))
    runs.add("new", 1, models=("is=llama", "else=qwen"))

    base, _ = sides(runs, "previous")

    assert base.only == {"else": {"old"}}


def test_a_label_a_path_and_a_set_mean_runs(nights, monkeypatch):
    assert ids(sides(nights, "label:release")[0]) == ["tue"]
    assert ids(sides(nights, str(nights.runs_dir / "mon"))[0]) == ["mon"]
    monkeypatch.chdir(nights.runs_dir / "mon")
    assert ids(sides(nights, ".")[0]) == ["mon"]
    base, candidate = sides(nights, "wed, mon", "thu,tue")
    assert (ids(base), ids(candidate)) == (["mon", "wed"], ["tue", "thu"])


def test_a_set_with_a_relative_part_counts_the_named_run_for_every_model(nights):
    base, _ = sides(nights, "previous,mon")

    assert base.only == {"m1": {"mon", "wed"}, "m2": {"mon", "tue"}}


def test_any_shard_brings_its_whole_plan(runs):
    runs.add("first-1", 0, run_group="g1", cases=("a",))
    runs.add("first-2", 0, run_group="g1", cases=("b",))
    runs.add("second-2", 1, run_group="g2", cases=("b",))
    runs.add("second-1", 2, run_group="g2", cases=("a",))

    base, candidate = sides(runs, "first-2", "second-2")

    assert ids(base) == ["first-1", "first-2"]
    assert ids(candidate) == ["second-2", "second-1"]


def test_previous_is_never_a_shard_of_the_candidates_own_plan(runs):
    runs.add("first", 0)
    runs.add("second-1", 1, run_group="g", cases=("a",))
    runs.add("second-2", 3, run_group="g", cases=("b",))
    runs.add("between", 2)

    base, candidate = sides(runs, "previous")
    earlier, _ = sides(runs, "last:7")

    assert (ids(base), ids(candidate)) == (["between"], ["second-1", "second-2"])
    assert ids(earlier) == ["first", "between"]


def test_shards_count_as_one_run_of_last_n(runs):
    runs.add("first", 0)
    runs.add("second-1", 1, run_group="g", cases=("a",))
    runs.add("second-2", 1, run_group="g", cases=("b",))
    runs.add("third", 2)

    assert ids(sides(runs, "last:1")[0]) == ["second-1", "second-2"]
    assert ids(sides(runs, "last:2")[0]) == ["first", "second-1", "second-2"]


def test_two_models_of_one_run_need_no_candidate(runs):
    nights = four_nights(runs)
    base, candidate = sides(nights, "latest", model="m1", against="m2")

    assert (ids(base), base.model) == (["thu"], "m1")
    assert (ids(candidate), candidate.model) == (["thu"], "m2")
    nights.add("fri", 5, models=("m1",))
    assert ids(sides(nights, "latest", model="m1", against="m2")[1]) == ["thu"]


def test_two_models_of_two_runs_take_the_base_model_from_the_base(nights):
    base, candidate = sides(nights, "previous", "thu", model="m2", against="m3")

    assert (ids(base), base.model, base.only) == (["tue"], "m2", {"m2": {"tue"}})
    assert (ids(candidate), candidate.model) == (["thu"], "m3")


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (("thu", "thu"), {}, "`thu` is on both sides"),
        (("latest",), {}, "`thu` is on both sides"),
        (("mon,thu", "thu"), {"model": "m1"}, "`thu` is on both sides"),
        (("thu",), {"model": "m1", "against": "m1"}, "`thu` is on both sides"),
        (("mon",), {"against": "m1"}, "--model the first"),
        (("last:0",), {}, "whole number from 1"),
        (("last:two",), {}, "whole number from 1"),
        (("last:²",), {}, "whole number from 1"),
        (("mon", "wed"), {"model": "m2"}, "`wed` has no model `m2`; allowed: m1"),
        (("mon", "wed"), {"model": "m4"}, "no run has model `m4`"),
        (("previous", "other,thu"), {}, "`other`, `smoke`"),
    ],
)
def test_a_side_that_means_nothing_is_a_usage_error(nights, arguments, options, says):
    with pytest.raises(ConfigError) as caught:
        sides(nights, *arguments, **options)

    assert says in str(caught.value)
    assert caught.value.exit_code == EXIT_USAGE


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "before `mon`, and there is none"),
        ({"model": "m1"}, "before `mon` that asked `m1`"),
    ],
)
def test_a_side_before_the_first_night_is_no_mistake(nights, options, says):
    with pytest.raises(ConfigError) as caught:
        sides(nights, "previous", "mon", **options)

    assert says in str(caught.value)
    assert caught.value.exit_code == EXIT_CANNOT_JUDGE


def test_a_name_of_several_models_is_a_usage_error_when_two_are_compared(runs):
    runs.add("one", 0, models=("m1=llama", "m2=llama", "m3=qwen"))

    with pytest.raises(ConfigError, match="is several models here: `m1`, `m2`"):
        sides(runs, "one", model="llama", against="m3")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tues", "no run `tues` in .*; did you mean `tue`"),
        ("tue,wedd", "no run `wedd` in .*; did you mean `wed`"),
        ("label:releas", "did you mean `label:release`"),
        ("LATEST", "no run `LATEST`"),
        ("last", "no run `last`"),
        (",", "no run `,`"),
        ("", "no run ``"),
    ],
)
def test_an_unknown_run_is_a_usage_error_that_names_the_nearest(nights, text, says):
    with pytest.raises(RunNotFound, match=says):
        sides(nights, text, "thu")


def test_a_lake_without_runs_has_no_latest(runs):
    runs.runs_dir.mkdir(parents=True)

    with pytest.raises(RunNotFound):
        sides(runs, "previous")
    with pytest.raises(RunNotFound):
        sides(runs, "last:3", model="m1")


def test_strange_names_of_runs_mean_those_runs(runs):
    histories.imported(runs.runs_dir, "a, b")
    histories.imported(runs.runs_dir, "latest")
    histories.imported(runs.runs_dir, "last:3")
    histories.imported(runs.runs_dir, "'; drop table x; --")
    sync(runs.runs_dir)

    assert ids(sides(runs, "a, b", "latest")[0]) == ["a, b"]
    assert ids(sides(runs, "latest", "a, b")[0]) == ["latest"]
    assert ids(sides(runs, "last:3", "a, b")[0]) == ["last:3"]
    assert ids(sides(runs, "'; drop table x; --,latest", "a, b")[0]) == [
        "'; drop table x; --", "latest"
    ]  # fmt: skip


def test_there_is_nothing_before_the_only_run_of_a_suite(runs):
    runs.add("mine", 0)
    histories.imported(runs.runs_dir, "theirs")
    sync(runs.runs_dir)

    with pytest.raises(ConfigError, match="run of suite `imported` before `theirs`"):
        sides(runs, "previous", "theirs")


def test_the_last_run_before_is_found_however_far_back_it_is(runs):
    runs.add("long-ago", 0, models=("m1", "m2"))
    for day in range(1, 12):
        runs.add(f"day-{day:02}", day)
    runs.add("today", 12, models=("m1", "m2"))

    base, _ = sides(runs, "previous")

    assert base.only == {"m1": {"day-11"}, "m2": {"long-ago"}}


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("prevoius", "previous"),
        ("latets", "latest"),
        ("label:relase", "label:release"),
        ("histroy", "history"),
    ],
)
def test_a_word_that_means_no_run_is_told_the_nearest_and_all_that_do(nights, text, near):
    with pytest.raises(RunNotFound) as caught:
        sides(nights, text, "wed", words=(*SIDE_WORDS, "history"))

    said = str(caught.value)
    assert (
        f"did you mean `{near}`? allowed: a run id, a path, `latest`, `previous`, `last:N`, "
        in said
    )

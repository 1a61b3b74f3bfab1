"""What of two sides belongs together, from real run folders."""

from collections import Counter

import pytest

from analyze.comparison.evidence.outcomes import METRICS, CaseKey, read_causes, read_outcomes
from analyze.comparison.evidence.run_sets import resolve_sides
from analyze.comparison.pairing import pair
from analyze.lake.sync import sync
from analyze.query.session import Session
from tests.support import histories
from tests.support.compared_runs import Runs
from tests.support.run_rows import parts_of, sha

pytestmark = pytest.mark.usefixtures("warm_engines")


@pytest.fixture
def runs(new_run):
    return Runs(new_run)


def paired(runs, base, candidate=None, *, allow=(), **options):
    """Return the pairing of two sides, from the lake."""
    with Session(runs.runs_dir) as session:
        first, second = resolve_sides(session, base, candidate, **options)
        rows = [read_outcomes(session, side.run_ids) for side in (first, second)]
        return pair(*rows, first, second, allow=allow)


def outcomes(runs, *run_ids):
    with Session(runs.runs_dir) as session:
        return read_outcomes(session, run_ids)


def axis(pairing, name):
    (found,) = [one for one in pairing.axes if one.axis == name]
    return found


def cases_of(pairing, place=0):
    return [case.case.case_id for case in pairing.groups[place].cases]


def why(pairing):
    return {(one.model_id, one.case_id): (one.reason, one.axes) for one in pairing.excluded}


def passes(*wanted):
    """Return results by which these (case, repetition) pass and all others do not."""
    return lambda trial: {"passed": (trial.case_id, trial.repetition) in wanted}


# ---------------------------------------------------------------- outcomes


def test_an_outcome_counts_verdicts_and_measures_first_attempts(runs):
    def result(trial):
        return {
            1: {"passed": True, "e2e_ms": 100, "ttft_ms": 10, "cost_usd": 2e-9},
            2: {"passed": False, "e2e_ms": 400, "attempt_count": 2, "ttft_ms": 20},
            3: {"failure_type": "timeout", "passed": False, "e2e_ms": None, "ttft_ms": None},
            4: None,
        }[trial.repetition]

    runs.add("one", 0, cases=("a",), repetitions=(1, 2, 3, 4), result=result)

    (row,) = outcomes(runs, "one")

    assert (row.key.model_id, row.case) == ("m1", CaseKey("smoke", "a"))
    assert row.counts._asdict() == {
        "n_planned": 4, "n_scorable": 4, "n_total": 3, "n_reused": 0, "n_scored": 3,
        "n_passed": 1, "n_independent": 3, "n_independent_passed": 1, "n_timeout": 1,
        "n_truncated": 0, "n_free": 0,
    }  # fmt: skip
    measured = dict(zip(METRICS, row.measured, strict=True))
    assert (measured["e2e_ms"].n, measured["e2e_ms"].total) == (1, 100)
    assert measured["e2e_ms"].ln_mean == pytest.approx(4.605170185988092, abs=1e-12)
    assert (measured["ttft_ms"].n, measured["ttft_ms"].total) == (1, 10)
    assert (measured["input_tokens"].n, measured["input_tokens"].total) == (3, 30)
    assert (measured["cost_usd"].n, measured["cost_usd"].total) == (1, 2)
    assert not row.answers.is_identical


def test_a_run_that_is_not_there_has_no_outcome_and_no_run_none(runs):
    runs.add("one", 0)

    assert outcomes(runs, "two") == []
    assert outcomes(runs) == []


def test_causes_say_why_scorable_trials_have_no_verdict(runs):
    failing = {"a": {"failure_type": "http_500"}, "b": {"failure_type": "timeout", "passed": None},
               "c": None, "d": {"passed": None}, "e": {}}  # fmt: skip
    runs.add(
        "one", 0, cases=("a", "b", "c", "d", "e"), repetitions=(1, 2),
        result=lambda trial: failing[trial.case_id],
    )  # fmt: skip
    runs.add("two", 1)

    with Session(runs.runs_dir) as session:
        causes = read_causes(session, ["one"])

    assert {key[2].case_id: counts for key, counts in causes.items()} == {
        "a": Counter(provider=2),
        "b": Counter(provider=2),
        "c": Counter(missing=2),
        "d": Counter(unknown=2),
    }
    assert {key[:2] for key in causes} == {("one", "m1")}


# ---------------------------------------------------------------- cases


def test_cases_of_both_sides_are_paired_and_others_listed(runs):
    runs.add("old", 0, cases=("a", "b", "gone"), result=passes(("a", 1)))
    runs.add("new", 1, cases=("a", "b", "fresh"), result=passes(("b", 1)))

    found = paired(runs, "old")

    (group,) = found.groups
    assert [(one.case.case_id, one.base.counts.n_passed, one.candidate.counts.n_passed)
            for one in group.cases] == [("a", 1, 0), ("b", 0, 1)]  # fmt: skip
    assert (group.base.runs, group.candidate.runs) == (("old",), ("new",))
    assert why(found) == {
        ("m1", "gone"): ("only_in_base", ()),
        ("m1", "fresh"): ("only_in_candidate", ()),
    }
    assert {one.axis: (one.n_same, one.n_differ) for one in found.axes}["case"] == (2, 0)
    assert found.unmatched == ()


def test_a_case_without_a_verdict_stays_for_its_coverage_and_is_not_in_the_test(runs):
    runs.add("old", 0, result=lambda trial: None if trial.case_id == "a" else {})
    runs.add("new", 1, result=lambda trial: {"failure_type": "http_500"})

    found = paired(runs, "old")

    assert cases_of(found) == ["a", "b"]
    assert [(one.case_id, one.reason) for one in found.excluded] == [
        ("a", "no_verdict_in_base"), ("a", "no_verdict_in_candidate"),
        ("b", "no_verdict_in_candidate"),
    ]  # fmt: skip


def test_an_edited_prompt_is_left_out_unless_it_is_allowed(runs):
    runs.add("old", 0)
    runs.add("new", 1, plan=lambda case_id, *_: {"case_hash": sha(f"{case_id} edited")}
             if case_id == "a" else {})  # fmt: skip

    found = paired(runs, "old")
    allowed = paired(runs, "old", allow=["case"])

    assert cases_of(found) == ["b"]
    assert why(found) == {("m1", "a"): ("axis_differs", ("case",))}
    report = axis(found, "case")
    assert (report.n_differ, report.n_same, report.n_unknown) == (1, 1, 0)
    assert (report.base, report.candidate) == ((sha("a")[:16],), (sha("a edited")[:16],))
    assert (report.is_allowed, report.model_ids) == (False, ("m1",))
    assert (cases_of(allowed), axis(allowed, "case").is_allowed) == (["a", "b"], True)
    assert axis(allowed, "case").n_differ == 1


@pytest.mark.parametrize("part", ["settings", "endpoint", "harness", "tools", "model_build"])
def test_a_part_that_differs_leaves_out_and_null_is_not_a_value(runs, part):
    runs.add("old", 0)
    runs.add("same", 1)
    runs.add("new", 2, plan=lambda case_id, repetition, _: {
        "fingerprint_parts": parts_of(repetition, **{part: "other"})})  # fmt: skip

    found = paired(runs, "old", "new")

    assert cases_of(found) == []
    assert why(found) == {("m1", case): ("axis_differs", (part,)) for case in "ab"}
    assert axis(found, part).n_differ == 2
    assert cases_of(paired(runs, "old", "new", allow=[part])) == ["a", "b"]
    assert why(paired(runs, "old", "same")) == {}
    assert axis(paired(runs, "old", "same"), part).n_same == 2


def test_an_early_plan_with_whole_hashes_is_the_same_as_one_with_their_beginning(runs):
    whole = parts_of().model_dump() | {"settings": sha("s 1"), "endpoint": sha("e")}
    runs.add("old", 0, plan=lambda *_: {"fingerprint_parts": whole})
    runs.add("new", 1)

    assert cases_of(paired(runs, "old")) == ["a", "b"]


def test_more_repetitions_are_no_other_settings_and_other_settings_are(runs):
    runs.add("old", 0, cases=("a",), repetitions=(1, 2, 3))
    runs.add("more", 1, cases=("a",), repetitions=(1, 2, 3, 4, 5))
    runs.add("warm", 2, cases=("a",), repetitions=(1, 2, 3), plan=lambda _, repetition, __: {
        "fingerprint_parts": parts_of(repetition, settings="warm")})  # fmt: skip

    found = paired(runs, "old", "more")
    (case,) = found.groups[0].cases
    assert (case.base.counts.n_scored, case.candidate.counts.n_scored) == (3, 5)
    assert axis(found, "settings").n_same == 1
    assert why(paired(runs, "old", "warm")) == {("m1", "a"): ("axis_differs", ("settings",))}


def test_settings_of_different_repetitions_are_not_known_to_differ(runs):
    runs.add("old", 0, cases=("a",), repetitions=(1,))
    runs.add("new", 1, cases=("a",), repetitions=(2,))

    found = paired(runs, "old")

    assert cases_of(found) == ["a"]
    assert axis(found, "settings").n_unknown == 1


def test_shards_that_part_the_repetitions_have_the_settings_of_their_plan(runs):
    runs.add("old", 0, cases=("a", "b"), repetitions=(1, 2), result=passes(("a", 1)))
    runs.add("new-1", 1, cases=("a",), repetitions=(1,), run_group="g")
    runs.add("new-2", 1, cases=("a",), repetitions=(2,), run_group="g")
    runs.add("new-3", 1, cases=("b",), repetitions=(1, 2), run_group="g")

    found = paired(runs, "old", "new-2")

    (group,) = found.groups
    assert [(one.candidate.counts.n_scored, one.candidate.run_ids) for one in group.cases] == [
        (2, ("new-1", "new-2")), (2, ("new-3",)),
    ]  # fmt: skip
    assert axis(found, "settings").n_same == 2
    assert group.candidate.runs == ("new-1", "new-2", "new-3")


# ---------------------------------------------------------------- who answered, who judged


def served(*names):
    """Return results whose answers take turns in saying these names of models."""
    return lambda trial: {"served_model": names[trial.repetition % len(names)]}


def test_another_served_model_leaves_out_and_an_unknown_one_does_not(runs):
    runs.add("silent", 0, repetitions=(1, 2))
    runs.add("old", 1, repetitions=(1, 2), result=served("v1"))
    runs.add("same", 2, repetitions=(1, 2), result=served("v1", None))
    runs.add("both", 3, repetitions=(1, 2), result=served("v2", "v1"))

    unknown, same, differs = (
        paired(runs, *two) for two in (("silent", "old"), ("old", "same"), ("old", "both"))
    )

    assert (cases_of(unknown), axis(unknown, "served_model").n_unknown) == (["a", "b"], 2)
    assert (cases_of(same), axis(same, "served_model").n_same) == (["a", "b"], 2)
    assert why(differs)["m1", "a"] == ("axis_differs", ("served_model",))
    report = axis(differs, "served_model")
    assert (report.base, report.candidate) == (("v1",), ("v1", "v2"))
    (group,) = differs.groups
    assert (group.base.served, group.candidate.served) == (("v1",), ("v1", "v2"))


def test_shards_are_served_as_one_run(runs):
    runs.add("old", 0, repetitions=(1, 2), result=served("v1", "v2"))
    runs.add("new-1", 1, cases=("a",), repetitions=(1, 2), run_group="g", result=served("v1"))
    runs.add("new-2", 1, cases=("b",), repetitions=(1, 2), run_group="g", result=served("v2"))

    assert cases_of(paired(runs, "old", "new-1")) == ["a", "b"]


def test_another_routing_leaves_out_where_both_say_it(runs):
    runs.add("direct", 0)
    runs.add("pinned", 1, result=lambda trial: {"routing": "pinned"})
    runs.add("free", 2, result=lambda trial: {"routing": "unpinned"})

    assert why(paired(runs, "pinned", "free"))["m1", "a"] == ("axis_differs", ("routing",))
    assert cases_of(paired(runs, "direct", "free")) == ["a", "b"]
    assert axis(paired(runs, "direct", "free"), "routing").n_unknown == 2


def test_another_judge_leaves_out_and_none_is_another_than_one(runs):
    runs.add("none", 0)
    runs.add("old", 1, judge_hash=sha("judge"))
    runs.add("new", 2, judge_hash=sha("judge 2"))

    found = paired(runs, "old", "new")

    assert why(found)["m1", "a"] == ("axis_differs", ("judge",))
    assert axis(found, "judge").candidate == (sha("judge 2")[:16],)
    assert why(paired(runs, "none", "old"))["m1", "a"] == ("axis_differs", ("judge",))
    assert axis(paired(runs, "none", "old"), "judge").base == ("none",)


# ---------------------------------------------------------------- several runs of a side


def test_runs_of_a_side_pool_as_repetitions_where_they_are_like_the_candidate(runs):
    hot = {"fingerprint_parts": parts_of(settings="hot")}
    runs.add("one", 0, result=passes(("a", 1)))
    runs.add("two", 1, plan=lambda case_id, *_: hot if case_id == "a" else {})
    runs.add("three", 2, result=lambda trial: {"e2e_ms": 200})
    runs.add("four", 3)

    found = paired(runs, "last:3")

    first, second = found.groups[0].cases
    assert (first.base.run_ids, second.base.run_ids) == (("one", "three"), ("one", "two", "three"))
    assert (first.base.counts.n_scored, first.base.counts.n_passed) == (2, 2)
    assert (second.base.counts.n_scored, second.base.counts.n_passed) == (3, 2)
    assert (first.base.measured[0].n, first.base.measured[0].total) == (2, 600)
    assert found.excluded == ()
    assert axis(found, "settings").n_differ == 1
    assert found.groups[0].base.runs == ("one", "two", "three")


def test_the_newest_run_of_the_candidate_decides_what_is_comparable(runs):
    edited = {"case_hash": sha("edited")}
    runs.add("old", 0, cases=("a",), plan=lambda *_: edited)
    runs.add("before", 1, cases=("a",))
    runs.add("newest", 2, cases=("a",), plan=lambda *_: edited)

    found = paired(runs, "old", "before,newest")

    (case,) = found.groups[0].cases
    assert (case.base.run_ids, case.candidate.run_ids) == (("old",), ("newest",))
    assert axis(found, "case").n_differ == 1
    assert found.groups[0].candidate.runs == ("newest",)


def test_a_base_run_counts_for_the_models_it_was_chosen_for(runs):
    runs.add("old", 0, models=("m1", "m2"))
    runs.add("mid", 1, models=("m1",))
    runs.add("new", 2, models=("m1", "m2"))

    found = paired(runs, "previous")

    assert [group.base.runs for group in found.groups] == [("mid",), ("old",)]


def test_pooled_answers_are_identical_when_all_runs_answered_alike(runs):
    def says(text):
        return lambda trial: {"raw_output": text}

    runs.add("one", 0, cases=("a",), result=says("x"))
    runs.add("two", 1, cases=("a",), result=says("x"))
    runs.add("three", 2, cases=("a",), result=says("y"))

    alike = paired(runs, "one,two", "three").groups[0].cases[0].base.answers
    other = paired(runs, "one,three", "two").groups[0].cases[0].base.answers

    assert (alike.is_repeated, alike.is_identical) == (True, True)
    assert (other.is_repeated, other.is_identical) == (True, False)


# ---------------------------------------------------------------- models


def test_models_are_matched_by_name_and_else_by_what_they_are(runs):
    runs.add("old", 0, models=("m1", "was=llama", "gone=qwen"))
    runs.add("new", 1, models=("m1", "is=llama", "fresh=gemma"))

    found = paired(runs, "old")

    assert [(group.base.key.model_id, group.candidate.key.model_id) for group in found.groups] == [
        ("was", "is"), ("m1", "m1"),
    ]  # fmt: skip
    assert found.unmatched == (
        "only in the base: gone (ollama_openai, qwen)",
        "only in the candidate: fresh (ollama_openai, gemma)",
    )


def test_two_models_of_the_same_make_are_not_guessed(runs):
    runs.add("old", 0, models=("one=llama", "two=llama"))
    runs.add("new", 1, models=("one=llama", "three=llama"))

    found = paired(runs, "old")

    assert [group.candidate.key.model_id for group in found.groups] == ["one"]
    assert len(found.unmatched) == 2


def test_a_model_id_that_became_another_model_is_matched_and_says_so(runs):
    runs.add("old", 0, models=("m1=llama",))
    runs.add("new", 1, models=("m1=qwen",), plan=lambda *_: {
        "fingerprint_parts": parts_of(endpoint="qwen")})  # fmt: skip

    found = paired(runs, "old")

    (group,) = found.groups
    assert (group.base.key.model, group.candidate.key.model) == ("llama", "qwen")
    assert group.cases == ()
    assert why(found)["m1", "a"] == ("axis_differs", ("endpoint",))


def test_two_models_of_one_run_may_differ_in_what_makes_them_two(runs):
    runs.add(
        "one", 0, models=("m1", "m2", "m3"), cases=("a",),
        plan=lambda _, repetition, model_id: {"fingerprint_parts": parts_of(
            repetition, endpoint=model_id, model_build=model_id,
            settings="hot" if model_id == "m3" else "s")},
        result=lambda trial: {"served_model": trial.model_id},
    )  # fmt: skip

    found = paired(runs, "one", model="m1", against="m2")
    other = paired(runs, "one", model="m1", against="m3")

    (group,) = found.groups
    assert (group.base.key.model_id, group.candidate.key.model_id) == ("m1", "m2")
    assert len(group.cases) == 1
    assert found.allowed == ("endpoint", "model_build", "served_model", "routing")
    assert axis(found, "endpoint").is_allowed
    assert axis(found, "endpoint").n_differ == 1
    assert found.unmatched == ()
    assert why(other) == {("m3", "a"): ("axis_differs", ("settings",))}


def test_a_named_model_is_the_only_one_on_both_sides(runs):
    runs.add("old", 0, models=("m1", "m2"))
    runs.add("new", 1, models=("m1", "m2"))

    found = paired(runs, "old", model="model-m2")

    assert [group.candidate.key.model_id for group in found.groups] == ["m2"]
    assert found.unmatched == ()


# ---------------------------------------------------------------- folders of the older shape


def test_folders_of_the_older_shape_are_compared_when_any_case_is_allowed(runs):
    histories.imported(runs.runs_dir, "20250101_000000")
    histories.imported(runs.runs_dir, "20250102_000000")
    sync(runs.runs_dir)

    found = paired(runs, "20250101_000000", "20250102_000000")
    allowed = paired(runs, "20250101_000000", "20250102_000000", allow=["case"])

    assert cases_of(found) == []
    assert {one.axes for one in found.excluded} == {("case",)}
    assert (axis(found, "case").n_unknown, axis(found, "settings").n_unknown) == (2, 2)
    assert axis(found, "case").n_differ == 0
    assert len(cases_of(allowed)) == 2


def test_suites_keep_cases_of_one_name_apart(runs):
    runs.add("old", 0, suite_id="one")
    runs.add("new", 1, suite_id="two")

    found = paired(runs, "old")

    assert cases_of(found) == []
    assert sorted((one.suite_id, one.reason) for one in found.excluded) == [
        ("one", "only_in_base"), ("one", "only_in_base"),
        ("two", "only_in_candidate"), ("two", "only_in_candidate"),
    ]  # fmt: skip


def test_hostile_names_are_data(runs):
    name = histories.HOSTILE + "'; drop view trials; --"
    runs.add("old", 0, models=(f"m1={name}",), result=lambda trial: {"served_model": name})
    runs.add("new", 1, models=(f"m2={name}",), result=lambda trial: {"served_model": name + "2"})

    found = paired(runs, "old", model=name)

    assert found.groups[0].candidate.key.model == name
    assert axis(found, "served_model").candidate == (name + "2",)

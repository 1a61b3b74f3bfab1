"""What a report tells to distrust: each reason with its numbers, and none of a clean run."""

import dataclasses
import shlex
import shutil

import pytest

from analyze.comparison.compare import compare
from analyze.comparison.evidence.read import read_evidence
from analyze.comparison.evidence.run_sets import resolve_sides
from analyze.query.session import open_session
from analyze.report.caveats import CODES, doubts_of
from analyze.report.caveats.facts import query_of
from collect.providers.ignored_settings import OTHER_MODEL
from collect.run_folder.log import resume_command
from tests.support.analyze_cli import call
from tests.support.compared_runs import Runs
from tests.support.histories import imported, lake_only
from tests.support.nights import Nights
from tests.support.paths import SAMPLES
from tests.support.report_context import context_of, limits_of, shifts_of
from tests.support.run_rows import host, parts_of

pytestmark = pytest.mark.usefixtures("warm_engines")

CASES = ("a", "b", "c", "d", "e", "f")
TWICE = (1, 2)


@pytest.fixture
def runs(new_run):
    return Runs(new_run, is_mirrored=False)


def doubts(runs_dir, run_id, baseline=None, *, history=False, **thresholds):
    with open_session(runs_dir) as session:
        context = context_of(session, run_id, baseline, **thresholds)
        return doubts_of(context, shifts_of(context) if history else None)


def one(found, code):
    (doubt,) = [doubt for doubt in found if doubt.code == code]
    return doubt


def codes(found):
    return [doubt.code for doubt in found]


def night(runs, run_id="now", day=1, **fields):
    """Write a run of six cases asked twice; fields as `Runs.add` takes them."""
    return runs.add(run_id, day, **({"cases": CASES, "repetitions": TWICE} | fields))


def first(n):
    """Return whether a trial is among the first of a plan."""
    return lambda trial: trial.trial_no < n


def those(chosen, fields):
    """Return the results of a run: these fields where `chosen` says so."""
    return lambda trial: fields if chosen(trial) else {}


def test_a_clean_run_beside_a_clean_baseline_has_none(runs):
    night(runs, "before", 0)
    night(runs)

    assert doubts(runs.runs_dir, "now", "before", history=True) == ()


SERIOUS = {
    "night_01": ["truncated"],
    "night_02": ["truncated"],
    "night_03_prompt": ["truncated"],
    "night_04_context": [
        "coverage", "infrastructure", "served_model", "truncated", "not_comparable",
    ],
    "night_05_crowded": ["truncated", "not_comparable"],
    "night_06_long": ["truncated", "changed_with_it"],
    "night_07_outage": ["no_verdict", "coverage", "infrastructure", "truncated", "not_comparable"],
    "night_08_resumed": ["truncated", "not_comparable", "not_comparable"],
    "night_09_reused": ["truncated", "reused"],
    "night_10_setting": ["truncated", "not_comparable"],
    "night_11_tools": ["few_cases", "truncated"],
    "older_tool": [],
}  # fmt: skip

TO_BE_KNOWN = {
    "night_01": ["identical_repetitions"],
    "night_02": ["identical_repetitions"],
    "night_03_prompt": ["identical_repetitions", "changed_with_it"],
    "night_04_context": ["identical_repetitions", "unknown_cost", "changed_with_it"],
    "night_05_crowded": ["identical_repetitions", "changed_with_it", "changed_with_it"],
    "night_06_long": ["identical_repetitions", "changed_with_it"],
    "night_07_outage": [
        "identical_repetitions", "unknown_cost", "not_comparable", "changed_with_it",
    ],
    "night_08_resumed": ["identical_repetitions", "not_comparable"],
    "night_09_reused": ["identical_repetitions"],
    "night_10_setting": ["identical_repetitions", "changed_with_it"],
    "night_11_tools": ["identical_repetitions", "narrowed"],
    "older_tool": ["identical_repetitions", "imported"],
}  # fmt: skip


@pytest.fixture(scope="module")
def sample_doubts(tmp_path_factory):
    """The doubts about every sample, beside the run before it, and the folder of the runs."""
    runs_dir = tmp_path_factory.mktemp("samples") / "runs"
    shutil.copytree(SAMPLES, runs_dir, ignore=shutil.ignore_patterns("lake"))
    found = {}
    with open_session(runs_dir) as session:
        rows = session.rows("select run_id, previous_run_id from runs order by run_id")
        for run_id, before in rows:
            context = context_of(session, run_id, before)
            found[run_id] = doubts_of(context, shifts_of(context))
    return runs_dir, found


@pytest.mark.parametrize("run_id", list(SERIOUS))
def test_a_night_of_the_samples_has_its_doubts(sample_doubts, run_id):
    found = sample_doubts[1][run_id]
    history = [] if run_id == "older_tool" else ["skipped_history"]

    assert codes(one for one in found if one.is_serious) == SERIOUS[run_id]
    assert codes(one for one in found if not one.is_serious) == TO_BE_KNOWN[run_id] + history


def test_serious_doubts_come_first_and_each_kind_in_the_order_of_its_codes(sample_doubts):
    for found in sample_doubts[1].values():
        places = [(not one.is_serious, CODES.index(one.code)) for one in found]
        assert places == sorted(places)


def test_every_command_of_the_samples_works_as_it_stands(sample_doubts):
    runs_dir, found = sample_doubts
    commands = {
        (one.code, shlex.split(one.command)[1]): one.command
        for of_run in found.values()
        for one in of_run
    }

    for command in commands.values():
        words = shlex.split(command)
        assert words[-2:] == ["--runs", str(runs_dir)] or words[2:4] == ["--runs", str(runs_dir)]
        done = call(*words[1:])
        assert (done.code, done.err) in {(0, ""), (1, ""), (3, "")}, command
        assert done.out


def test_a_doubt_says_what_happened_in_the_outage(sample_doubts):
    found = sample_doubts[1]["night_07_outage"]

    assert one(found, "no_verdict").model_ids == ("backup",)
    assert one(found, "coverage").sentence == (
        "Fewer than 95.0 % of the trials that can get a verdict have one: careful 18 of 24 "
        "(75.0 %), playful 16 of 24 (66.7 %). Whatever the others would have come to, the passed "
        "rate lies between 66.7 and 91.7 % (careful), 45.8 and 79.2 % (playful). So few are not "
        "compared."
    )
    failed = one(found, "infrastructure").sentence
    assert "38 of 72 results (52.8 %)" in failed
    assert "backup 24 connection_error (infrastructure), stopped: http://127.0.0.1:9/v1" in failed
    assert "careful 6 http_500 (provider)" in failed


@pytest.mark.parametrize(("n", "is_serious"), [(1, True), (0, False)])
def test_missing_trials_are_serious_where_they_leave_too_few_verdicts(runs, n, is_serious):
    cases = [f"c{number}" for number in range(20)]
    missing = {("m1", "c0", 1), ("m1", "c1", 1)} if n else {("m1", "c0", 1)}
    night(
        runs, cases=cases, repetitions=(1, 2) if not n else (1,),
        result=lambda trial: None
        if (trial.model_id, trial.case_id, trial.repetition) in missing
        else {},
    )  # fmt: skip

    doubt = one(doubts(runs.runs_dir, "now"), "missing_trials")

    assert doubt.is_serious == is_serious
    share = "2 of 20 (10.0 %)" if n else "1 of 40 (2.5 %)"
    assert f"no result: m1 {share};" in doubt.sentence
    assert doubt.command == resume_command(runs.runs_dir / "now")


def test_only_trials_that_can_get_a_verdict_make_what_is_missing_or_late_serious(runs):
    night(
        runs,
        plan=lambda case_id, *_: {"validator_type": None if case_id in "ab" else "exact"},
        result=lambda trial: {"a": None, "b": {"failure_type": "timeout", "passed": None}}.get(
            trial.case_id, {}
        ),
    )  # fmt: skip

    found = doubts(runs.runs_dir, "now")

    assert codes(found) == ["few_cases", "missing_trials"]
    assert not one(found, "missing_trials").is_serious
    assert "m1 2 of 12 (16.7 %)" in one(found, "missing_trials").sentence


def test_missing_trials_name_why_the_run_was_stopped(runs):
    run = night(runs, result=lambda trial: None if trial.trial_no > 5 else {})
    add_event(run, "run_stopped", "0.50 USD were\nspent")

    sentence = one(doubts(runs.runs_dir, "now"), "missing_trials").sentence

    assert sentence.endswith("The run was stopped: 0.50 USD were spent.")


def add_event(run, name, detail, model_id=None):
    run.event(name, at_ms=1, model_id=model_id, detail=detail)
    run.write()


def test_what_is_missing_from_a_run_whose_folder_is_elsewhere_is_only_shown(new_run, runs):
    lake_only(night(runs, result=lambda trial: None if trial.trial_no == 0 else {}))

    doubt = one(doubts(runs.runs_dir, "now"), "missing_trials")

    assert doubt.command == f"analyze show now --runs {runs.runs_dir}"


def test_a_suite_without_checks_has_no_passed_rate_and_that_is_not_serious(runs):
    fields = {"plan": lambda *_: {"validator_type": None}, "result": lambda _: {"passed": None}}
    night(runs, "before", 0, **fields)
    night(runs, **fields)

    found = doubts(runs.runs_dir, "now", "before")

    assert codes(found) == ["no_verdict"]
    assert not found[0].is_serious
    assert found[0].model_ids == ()


def test_failures_outside_the_model_are_told_by_cause_and_serious_only_when_they_are_many(runs):
    cases = [f"c{number}" for number in range(20)]
    ends = {0: "http_429", 1: "exception", 2: "timeout", 3: "empty_response"}
    night(
        runs, cases=cases, repetitions=(1, 2),
        result=lambda trial: {"failure_type": ends.get(trial.trial_no)},
    )  # fmt: skip

    doubt = one(doubts(runs.runs_dir, "now"), "infrastructure")

    assert not doubt.is_serious
    assert doubt.sentence.startswith(
        "2 of 40 results (5.0 %) failed for reasons outside the model: "
        "m1 1 exception (harness), 1 http_429 (provider)."
    )
    assert one(doubts(runs.runs_dir, "now", min_coverage=0.96), "infrastructure").is_serious


@pytest.mark.parametrize("n_cases", [1, 4, 5])
def test_fewer_than_five_cases_with_a_verdict_are_few(runs, n_cases):
    judged = CASES[:n_cases]
    night(
        runs,
        result=lambda trial: {} if trial.case_id in judged else {"failure_type": "http_500"},
    )

    found = doubts(runs.runs_dir, "now", min_coverage=0)

    assert ("few_cases" in codes(found)) == (n_cases < 5)
    if n_cases < 5:
        assert f"have a verdict: m1 {n_cases}." in one(found, "few_cases").sentence


def test_a_run_that_asked_each_case_once_cannot_tell_luck_from_change(runs):
    night(runs, repetitions=(1,))

    doubt = one(doubts(runs.runs_dir, "now"), "one_repetition")

    assert not doubt.is_serious
    assert "--repetitions 3" in doubt.command


def test_repetitions_that_are_the_same_bytes_are_told_of_the_model_that_gave_them(runs):
    night(
        runs, models=("m1", "m2"),
        result=lambda trial: {"raw_output": "same"} if trial.model_id == "m2" else {},
    )  # fmt: skip

    doubt = one(doubts(runs.runs_dir, "now"), "identical_repetitions")

    assert (doubt.model_ids, doubt.is_serious) == (("m2",), False)
    assert doubt.sentence.startswith("m2: 2 repetitions of a case gave the same answer")


def routed(upstreams, routing):
    """Return results that a router sent to each upstream in turn."""
    return lambda trial: {
        "routing": routing, "served_provider": upstreams[trial.trial_no % len(upstreams)],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "now", "is_serious"),
    [
        (["one"], ["one"], False),
        (["one"], ["two"], True),
        (["one"], ["one", "two"], True),
        ([None], [None], True),
    ],
)
def test_a_router_that_chose_is_serious_unless_one_upstream_answered_all(
    runs, before, now, is_serious
):
    night(runs, "before", 0, result=routed(before, "unpinned"))
    night(runs, result=routed(now, "unpinned"))

    doubt = one(doubts(runs.runs_dir, "now", "before"), "unpinned_routing")

    assert doubt.is_serious == is_serious


def test_a_router_that_could_not_choose_is_no_doubt(runs):
    night(runs, result=routed(["one"], "pinned"))

    assert doubts(runs.runs_dir, "now") == ()


def test_a_model_under_several_names_is_serious(runs):
    night(
        runs, models=("m1", "m2"),
        result=lambda trial: {
            "served_model": f"m-{trial.repetition}" if trial.model_id == "m2" else "m"
        },
    )  # fmt: skip

    doubt = one(doubts(runs.runs_dir, "now"), "served_model")

    assert (doubt.model_ids, doubt.is_serious) == (("m2",), True)
    assert "m2 answered as m-1, m-2" in doubt.sentence


def test_a_server_that_names_another_model_than_was_asked_for_is_serious(runs):
    run = night(runs)
    add_event(run, "provider_note", OTHER_MODEL.format("gpt", "llama"), "m1")
    add_event(run, "provider_note", "it did not stream", "m1")

    doubt = one(doubts(runs.runs_dir, "now"), "served_model")

    assert "m1 asked for gpt, answered by llama." in doubt.sentence
    assert "stream" not in doubt.sentence


@pytest.mark.parametrize(("n_late", "is_serious"), [(1, None), (2, False), (20, True)])
def test_times_are_doubted_where_our_own_loop_was_late(runs, n_late, is_serious):
    cases = [f"c{number}" for number in range(20)]
    night(
        runs, cases=cases,
        result=those(first(n_late), {"clock_late_ms": 41}),  # of 400 ms
    )  # fmt: skip

    found = doubts(runs.runs_dir, "now")

    if is_serious is None:
        assert found == ()
    else:
        doubt = one(found, "late_client")
        assert doubt.is_serious == is_serious
        assert f"m1 {n_late} of 40 ({n_late / 0.4:.1f} %), at worst 41 ms" in doubt.sentence


def test_how_late_we_were_is_told_of_the_times_that_count(runs):
    failed = {"failure_type": "http_500", "clock_late_ms": 9_000}
    late = {0: {"clock_late_ms": 41}, 1: {"clock_late_ms": 43}, 2: failed}
    night(runs, result=lambda trial: late.get(trial.trial_no, {}))

    doubt = one(doubts(runs.runs_dir, "now"), "late_client")

    assert "m1 2 of 11 (18.2 %), at worst 43 ms" in doubt.sentence


def test_a_loop_late_by_less_than_the_margin_is_no_doubt(runs):
    night(runs, result=lambda trial: {"clock_late_ms": 40})

    assert doubts(runs.runs_dir, "now") == ()


def test_many_time_outs_put_a_doubt_on_either_side(runs):
    night(runs, "before", 0, result=those(first(3), {"failure_type": "timeout"}))
    night(runs, result=those(first(1), {"failure_type": "timeout"}))

    doubt = one(doubts(runs.runs_dir, "now", "before"), "timeouts")

    assert doubt.is_serious
    assert "m1 1 of 12 (8.3 %), in the baseline 3 of 12 (25.0 %)." in doubt.sentence
    assert "timeouts" not in codes(doubts(runs.runs_dir, "now", timeout_warning_share=0.1))


def test_answers_cut_off_put_a_doubt_on_either_side_and_name_the_limit(runs):
    cut = {"failure_type": "output_truncated"}
    night(runs, "before", 0, result=those(first(2), cut))
    limit = {CASES[0]: {"max_tokens": {"value": 32, "origin": "case"}}}
    night(runs, result=those(first(3), cut), case_settings=limit)

    doubt = one(doubts(runs.runs_dir, "now", "before"), "truncated")

    assert doubt.is_serious
    said = "m1 3 of 12 (25.0 %), in the baseline 2 of 12 (16.7 %) (max_tokens 32)."
    assert said in doubt.sentence
    assert "truncated" not in codes(doubts(runs.runs_dir, "now", truncation_warning_share=0.3))


@pytest.mark.parametrize(("of", "is_serious"), [("before", True), ("long-ago", False)])
def test_answers_of_older_runs_are_serious_where_they_are_the_baselines_own(runs, of, is_serious):
    night(runs, "before", 0)
    night(runs, result=those(first(4), {"reused_from_run_id": of}))

    doubt = one(doubts(runs.runs_dir, "now", "before"), "reused")

    assert doubt.is_serious == is_serious
    assert f"4 of 12 results (33.3 %) are answers of older runs: 4 of {of}." in doubt.sentence
    assert ("the baseline's own" in doubt.sentence) == is_serious


def test_a_shard_names_the_other_parts_that_are_here(runs):
    night(runs, run_group="g", narrowed={"shard": "1/2"})
    night(runs, "other", 1, run_group="g", narrowed={"shard": "2/2"})

    found = doubts(runs.runs_dir, "now")

    assert codes(found) == ["shard"]
    assert found[0].sentence.startswith("This is part 1/2 of one plan; other parts here: other.")


def test_a_narrowed_run_says_by_which_flags(runs):
    night(runs, narrowed={"tags": ["fast"], "max_trials": 12})

    doubt = one(doubts(runs.runs_dir, "now"), "narrowed")

    assert "(--tag fast, --max-trials 12): 6 cases." in doubt.sentence


def test_a_narrowed_run_is_known_as_one_without_its_folder(runs):
    lake_only(night(runs, narrowed={"tags": ["fast"]}))

    assert codes(doubts(runs.runs_dir, "now")) == ["narrowed"]


def test_an_older_tools_run_says_that_its_cases_are_not_known(runs):
    folder = imported(runs.runs_dir)

    doubt = one(doubts(runs.runs_dir, folder.name), "imported")

    assert "is not known for 4 of 4 trials" in doubt.sentence


def test_a_cost_that_is_known_in_part_is_told_and_one_that_nobody_knows_is_not(runs):
    night(
        runs, models=("m1", "m2"),
        result=lambda trial: {"cost_usd": 0.1}
        if trial.model_id == "m1" and trial.trial_no > 2
        else {},
    )  # fmt: skip

    doubt = one(doubts(runs.runs_dir, "now"), "unknown_cost")

    assert doubt.sentence.startswith(
        "The cost of 15 trials is not known; it is known of "
        "m1 9 of 12 (75.0 %), m2 0 of 12 (0.0 %)."
    )


def test_a_reused_answer_has_no_cost_of_this_run_to_know(runs):
    night(
        runs,
        result=lambda trial: (
            {"reused_from_run_id": "long-ago"} if trial.trial_no == 0 else {"cost_usd": 0.1}
        ),
    )

    assert codes(doubts(runs.runs_dir, "now")) == ["reused"]


def test_models_that_cannot_be_compared_are_told_together_with_why(runs):
    night(runs, "before", 0, models=("m1", "m2", "gone"))
    night(
        runs, models=("m1", "m2", "new"),
        result=lambda trial: {"failure_type": "http_500"} if trial.case_id == "a" else {},
    )  # fmt: skip

    found = doubts(runs.runs_dir, "now", "before")
    serious, known = [one for one in found if one.code == "not_comparable"]

    assert serious.model_ids == ("m1", "m2")
    assert "m1, m2 cannot be compared with the baseline: candidate: only 83.3 %" in serious.sentence
    assert "2 provider" in serious.sentence
    assert (serious.is_serious, known.is_serious) == (True, False)
    assert "only in the base: gone" in known.sentence
    assert "only in the candidate: new" in known.sentence


def edited(*cases):
    """Return the plan of a run in which the settings of some cases changed."""
    return lambda case_id, repetition, _: (
        {"fingerprint_parts": parts_of(repetition, settings="other")} if case_id in cases else {}
    )


@pytest.mark.parametrize(("changed", "is_serious"), [(("a",), False), (("a", "b"), True)])
def test_what_changed_is_serious_where_it_leaves_a_verdict_too_few_cases(runs, changed, is_serious):
    night(runs, "before", 0)
    night(runs, plan=edited(*changed))

    doubt = one(doubts(runs.runs_dir, "now", "before"), "changed_with_it")

    assert doubt.is_serious == is_serious
    assert f"settings (how the model is set) differs in {len(changed)}" in doubt.sentence
    assert doubt.sentence.endswith(f"it rests on {6 - len(changed)} cases of m1.")
    assert "--allow settings" in doubt.command


def test_a_case_that_only_some_runs_of_the_baseline_asked_alike_still_counts(runs):
    night(runs, "older", 0, plan=edited("a"))
    night(runs, "before", 1)
    night(runs, day=2)

    doubt = one(doubts(runs.runs_dir, "now", "older,before"), "changed_with_it")

    assert "No verdict takes these cases in" not in doubt.sentence
    assert doubt.sentence.endswith(
        "There only those runs of the baseline count that are the same: verdicts rest on 6 cases "
        "of m1."
    )


def test_what_changed_and_was_allowed_may_stand_behind_a_verdict(runs):
    night(runs, "before", 0)
    night(runs, plan=edited("a"))
    with open_session(runs.runs_dir) as session:
        context = context_of(session, "now", "before")
        evidence = read_evidence(session, *resolve_sides(session, "before", "now"))
        allowed = compare(evidence, limits=limits_of(), allow={"settings"})
        found = doubts_of(dataclasses.replace(context, comparison=allowed), None)

    assert one(found, "changed_with_it").is_serious
    assert "may be its doing" in one(found, "changed_with_it").sentence


@pytest.mark.parametrize(("e2e_ms", "is_serious"), [(400, False), (9000, True)])
def test_another_machine_and_more_at_once_are_serious_where_times_were_judged(
    runs, e2e_ms, is_serious
):
    night(runs, "before", 0)
    run = night(runs, result=lambda _: {"e2e_ms": e2e_ms}, execution_policy={"max_concurrency": 4})
    run.inventory = {"host": host(cpu_count=64)}
    run.write()

    at_once, machine = sorted(
        doubts(runs.runs_dir, "now", "before"), key=lambda one: "machine" in one.sentence
    )

    assert "trials in flight at once (1→4)" in at_once.sentence
    assert "64 cores, 8 GiB" in machine.sentence
    assert {at_once.is_serious, machine.is_serious} == {is_serious}
    assert {at_once.code, machine.code} == {"changed_with_it"}


def test_a_history_with_a_night_that_says_nothing_is_told_once_it_is_long_enough(new_run):
    nights = Nights(new_run("x").runs_dir)
    nights.add(4, rates={"m1": 0.8, "m2": 0.8})
    nights.add(1, rates={"m1": 0.8, "m2": 0.8}, lost=0.5)
    assert "skipped_history" not in codes(doubts(nights.runs_dir, "night-001", history=True))
    nights.add(3, rates={"m1": 0.8, "m2": 0.8})

    doubt = one(doubts(nights.runs_dir, "night-008", history=True), "skipped_history")

    assert (doubt.model_ids, doubt.is_serious) == (("m1", "m2"), False)
    assert "m1, m2 (1 of 8 runs left out: more than a tenth of the verdicts" in doubt.sentence
    assert doubt.command == f"analyze regressions --suite smoke --runs {nights.runs_dir}"


def test_a_sentence_about_many_models_stays_short(runs):
    names = tuple(f"m{number:02d}" for number in range(40))
    night(runs, models=names, repetitions=(1,), result=those(first(240), {"passed": None}))

    doubt = one(doubts(runs.runs_dir, "now"), "no_verdict")

    assert doubt.model_ids == names
    assert "m00 (6 trials), m01 (6 trials), m02 (6 trials) and 37 more" in doubt.sentence


@pytest.fixture(scope="module")
def plain(shared_run):
    """The context of a run without any trouble."""
    run = night(Runs(shared_run, is_mirrored=False))
    with open_session(run.runs_dir) as session:
        yield context_of(session, run.run_id)


@pytest.mark.parametrize("run_id", ["it's", 'a"b', "$(touch x)", "`touch x`", "a\nb", "!!"])
def test_a_query_is_one_word_of_the_shell_whatever_the_run_is_called(plain, run_id):
    row = plain.run.row.model_copy(update={"run_id": run_id})
    context = dataclasses.replace(plain, run=dataclasses.replace(plain.run, row=row))

    words = shlex.split(query_of(context, "select 1 from results"))

    quoted = run_id.replace("'", "''")
    assert words[:2] == ["analyze", "sql"]
    assert words[-1] == f"select 1 from results where run_id = '{quoted}'"

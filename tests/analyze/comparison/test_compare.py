"""What follows from two runs for each model, from records on disk to a verdict."""

import math
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from analyze.comparison.compare import compare
from analyze.comparison.evidence.read import read_evidence
from analyze.comparison.evidence.run_sets import resolve_sides
from analyze.comparison.verdict import limits_of, verdict_of
from analyze.query.session import open_session
from analyze.query.thresholds import limits_in_force
from schemas.config.known_issues import Quarantined
from schemas.config.project import Thresholds
from schemas.errors import ConfigError
from schemas.output.comparison import ThresholdsUsed
from tests.support.gates import difference
from tests.support.two_nights import case_name, edited, night

pytestmark = pytest.mark.usefixtures("warm_engines")

STEADY = [3, 3, 2, 3, 0, 3, 1, 3, 3, 3] * 4
DROPPED = [1, 3, 0, 2, 0, 1, 1, 1, 3, 0] * 4


def compared(run, base="night_00", candidate="night_01", limits=None, **options):
    sides = {name: options.pop(name) for name in ("model", "against") if name in options}
    with open_session(run.runs_dir) as session:
        first, second = resolve_sides(session, base, candidate, **sides)
        limits = limits or ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None)
        return compare(read_evidence(session, first, second), limits=limits, **options)


def only(comparison):
    (group,) = comparison.groups
    return group


def ratio_of(group, metric):
    (found,) = [ratio for ratio in group.ratios if ratio.metric == metric]
    return found


def test_a_real_drop_has_regressed_with_its_size_and_the_cases_that_broke(new_run):
    night(new_run, 0, STEADY)
    run = night(new_run, 1, DROPPED)
    found = compared(run)
    group = only(found)

    assert group.verdict == "regressed"
    assert group.difference.difference == pytest.approx((sum(DROPPED) - sum(STEADY)) / 120)
    assert group.difference.low < group.difference.difference < group.difference.high < 0
    assert group.difference.q <= 0.05
    assert (group.difference.n_cases, group.difference.n_nonzero) == (40, 24)
    assert (group.base.passed_rate, group.candidate.passed_rate) == (0.8, sum(DROPPED) / 120)
    worst = found.cases[0]
    assert (worst.base_passed, worst.candidate_passed, worst.flip) == (3, 0, "broke")
    assert worst.commands[0].startswith(f"analyze show night_00 {worst.case_id} main")
    assert len(found.cases) == 24


def test_two_runs_with_the_same_results_are_unchanged_once_there_are_enough_cases(new_run):
    night(new_run, 0, [3] * 150 + [0] * 10)
    run = night(new_run, 1, [3] * 150 + [0] * 10)
    group = only(compared(run))

    assert group.verdict == "unchanged"
    assert (group.difference.p, group.difference.difference) == (1.0, 0.0)
    assert "inside the margin of 5.0 points" in group.reasons[0]


def test_a_drop_that_is_certain_is_not_unchanged_however_wide_the_margin(new_run):
    wide = ThresholdsUsed(
        thresholds=Thresholds(pass_rate_margin=0.6), path="x.yaml", sha256="a" * 64
    )
    night(new_run, 0, STEADY)
    run = night(new_run, 1, DROPPED)
    group = only(compared(run, limits=wide))

    assert group.difference.low90 > -0.6
    assert group.difference.p <= 0.05
    assert group.verdict == "regressed"


@pytest.mark.parametrize(
    ("rate", "low", "low90", "p", "verdict"),
    [
        (0.9, -0.06, -0.045, 0.2, "unchanged"),
        (0.9, -0.06, -0.045, 0.05, "regressed"),
        (0.98, -0.019, -0.015, 0.2, "unchanged"),
        (0.98, -0.021, -0.019, 0.2, "inconclusive"),
        (0.02, -0.021, -0.019, 0.2, "inconclusive"),
        (1.0, -0.0099, -0.009, 0.2, "unchanged"),
        (1.0, -0.011, -0.009, 0.2, "inconclusive"),
    ],
)
def test_near_the_ends_the_margin_is_smaller_and_the_wider_interval_has_to_fit(
    rate, low, low90, p, verdict
):
    found = difference(
        -0.004, low=low, high=0.005, low90=low90, high90=0.004, p=p, q=p, base_rate=rate
    )

    assert verdict_of(found, (), Thresholds()) == verdict
    sentences = " ".join(limits_of(found, verdict, Thresholds()))
    assert ("95 % interval lies inside" in sentences) == (verdict == "unchanged" and rate != 0.9)


def test_a_margin_out_of_reach_near_the_end_says_which_it_is():
    found = difference(0.0, base_rate=1.0, cases_needed=4_000)

    sentences = " ".join(limits_of(found, "inconclusive", Thresholds()))
    assert "margin of 1.0 points near 100 % out of reach: needs about 4,000 cases" in sentences


def test_a_p_that_is_small_alone_and_not_among_many_models_is_said():
    found = difference(-0.03, low90=-0.045, high90=-0.01, p=0.02, q=0.2)

    assert verdict_of(found, (), Thresholds()) == "inconclusive"
    assert "p 0.020 is too small for unchanged" in " ".join(
        limits_of(found, "inconclusive", Thresholds())
    )


def test_a_drop_that_missing_verdicts_could_explain_is_inconclusive(new_run):
    """Four of the cases that broke lost their verdict on the night that was better."""
    before = [1] * 160
    after = [1] * 154 + [0] * 6

    def lost(case, rep, model):
        return None if case < 8 else {}

    night(new_run, 0, before, reps=1)
    night(new_run, 1, after, reps=1)
    run = night(new_run, 2, before, reps=1, result=lost)
    seen = only(compared(run, "night_00", "night_01"))
    held = only(compared(run, "night_02", "night_01"))

    assert (seen.verdict, seen.difference.missing_p) == ("regressed", None)
    assert held.difference.q <= 0.05
    assert held.difference.missing_p == 1.0
    assert held.verdict == "inconclusive"
    assert "missing verdicts could explain it" in held.reasons[0]


def test_answers_that_were_taken_over_are_in_the_rates_and_in_no_test(new_run):
    def reused(case, rep, model):
        return {"reused_from_run_id": "night_00"} if case < 12 else {}

    def all_reused(case, rep, model):
        return {"reused_from_run_id": "night_00"}

    night(new_run, 0, STEADY)
    night(new_run, 1, STEADY, result=reused)
    run = night(new_run, 2, STEADY, result=all_reused)
    some, every = only(compared(run)), only(compared(run, candidate="night_02"))

    assert (some.candidate.n_scored, some.difference.n_cases) == (120, 28)
    assert "every answer to 12 of 40 cases was taken over" in some.warnings[-1]
    assert (every.verdict, every.difference) == ("inconclusive", None)
    assert every.candidate.passed_rate == 0.8
    assert "every answer was taken over from an older run, so nothing" in every.reasons[0]


def test_repetitions_of_the_same_bytes_are_one_trial_a_run(new_run):
    """Of a case whose answers are all the same; where one differs all of them count."""

    def same(case, rep, model):
        return {"raw_output": "same" if case < 20 or rep > 1 else "other"}

    night(new_run, 0, [3] * 40, result=same)
    night(new_run, 1, [3] * 40, result=same)
    run = night(new_run, 2, [3] * 18 + [0] * 4 + [3] * 18, result=same)
    one, two = only(compared(run)), only(compared(run, "night_00,night_01", "night_02"))

    assert (one.difference.difference, one.difference.test) == (0, "sign_flip_mid_p")
    assert two.difference.test == "intersection_union"
    assert two.difference.difference == pytest.approx(-0.1)
    assert two.base.n_scored == 240


def test_few_cases_are_inconclusive_and_say_what_it_takes(new_run):
    night(new_run, 0, [3, 3, 3, 3, 3, 0])
    run = night(new_run, 1, [3, 3, 3, 0, 0, 0])
    group = only(compared(run))

    assert group.verdict == "inconclusive"
    assert group.difference.detectable > 0.3
    assert any("only 2 cases changed" in reason for reason in group.reasons)
    assert any("out of reach: needs about" in reason for reason in group.reasons)


def test_a_single_case_has_no_interval_and_no_test(new_run):
    night(new_run, 0, [3])
    run = night(new_run, 1, [0])
    group = only(compared(run))

    assert (group.verdict, group.difference) == ("inconclusive", None)
    assert "single case" in group.reasons[0]


def test_an_outage_is_never_a_worse_model(new_run):
    night(new_run, 0, STEADY)
    down = night(
        new_run, 1, STEADY,
        result=lambda case, rep, model: {"failure_type": "http_503", "passed": None}
        if case >= 15 else {},
    )  # fmt: skip
    group = only(compared(down))

    assert group.verdict == "not_comparable"
    assert (group.base.coverage, group.candidate.coverage) == (1.0, 0.375)
    assert group.candidate.causes == {"provider": 75}
    assert "only 37.5 % of the trials have a verdict" in group.reasons[0]
    assert "75 provider" in group.reasons[0]
    assert group.difference.q is None
    assert group.candidate.score_strict < group.candidate.score_available


def test_trials_without_a_result_are_missing_and_bound_the_score(new_run):
    night(new_run, 0, STEADY)
    run = night(new_run, 1, STEADY, result=lambda case, rep, model: None if case < 4 else {})
    side = only(compared(run)).candidate

    assert side.causes == {"missing": 12}
    assert (side.n_planned, side.n_total, side.n_scored) == (120, 108, 108)
    assert side.score_strict == pytest.approx((96 - 11) / 120)
    assert side.score_upper == pytest.approx((96 - 11 + 12) / 120)


def test_a_lower_bar_for_coverage_lets_a_comparison_through_unless_the_sides_differ(new_run):
    def lost(cases):
        return lambda case, rep, model: None if case < cases else {}

    night(new_run, 0, STEADY, result=lost(8))
    night(new_run, 1, STEADY, result=lost(8))
    run = night(new_run, 2, STEADY, result=lost(2))

    assert only(compared(run)).verdict == "not_comparable"
    assert only(compared(run, min_coverage=0.7)).verdict != "not_comparable"
    apart = only(compared(run, "night_01", "night_02", min_coverage=0.7))
    assert apart.verdict == "not_comparable"
    assert "coverage differs by 15.0 points" in apart.reasons[0]


def test_an_edited_prompt_is_left_out_and_never_a_worse_model(new_run):
    night(new_run, 0, STEADY)
    run = night(new_run, 1, [0, 0, *STEADY[2:]], plan=edited(0, 1))
    found = compared(run)

    assert only(found).difference.difference == 0
    assert [(e.case_id, e.reason, e.axes) for e in found.excluded] == [
        (case_name(0), "axis_differs", ("case",)),
        (case_name(1), "axis_differs", ("case",)),
    ]
    allowed = compared(run, allow={"case"})
    assert only(allowed).difference.difference == pytest.approx(-6 / 120)
    assert allowed.excluded == ()


def test_a_suite_that_was_rewritten_has_no_case_in_common_and_says_which_axis(new_run):
    night(new_run, 0, STEADY)
    run = night(new_run, 1, STEADY, plan=edited(*range(40)))
    group = only(compared(run))

    assert group.verdict == "not_comparable"
    assert "no case is the same on both sides: case unlike or not known" in group.reasons[0]


def test_time_outs_are_a_warning_beside_the_verdict(new_run):
    night(new_run, 0, STEADY)
    run = night(
        new_run, 1, STEADY,
        result=lambda case, rep, model: {"failure_type": "timeout", "passed": False}
        if case < 3 else {},
    )  # fmt: skip
    group = only(compared(run))

    assert group.candidate.n_timeout == 9
    assert "7.5 % of the trials timed out (9 of 120)" in group.warnings[0]


def test_answers_that_were_cut_off_are_a_warning_with_where_they_ended(new_run):
    cut = {"failure_type": "output_truncated", "passed": False, "output_tokens": 32}
    night(new_run, 0, STEADY, result=lambda case, rep, model: cut if (case, rep) == (0, 1) else {})
    run = night(new_run, 1, STEADY, result=lambda case, rep, model: cut if case < 2 else {})
    group = only(compared(run))

    assert (group.base.n_truncated, group.candidate.n_truncated) == (1, 6)
    assert group.candidate.truncated_after == (32, 32)
    (warning,) = group.warnings
    assert warning.startswith("candidate: 6 of 120 answers (5.0 %) were cut off after 32 tokens:")


def test_ten_models_are_one_family_whatever_is_shown(new_run):
    models = tuple(f"m{n}" for n in range(10))

    def worse(case, rep, model):
        return {"passed": False} if model == "m3" and case < 9 else {}

    night(new_run, 0, STEADY, models=models)
    run = night(new_run, 1, STEADY, models=models, result=worse)
    found, by_tag = compared(run), compared(run, by="tag")
    groups = {group.model_id: group for group in found.groups}

    changed = groups["m3"].difference
    assert changed.q == pytest.approx(min(1.0, 10 * changed.p))
    assert groups["m1"].difference.q == 1.0
    assert {g.model_id: g.difference.q for g in by_tag.groups} == {
        g.model_id: g.difference.q for g in found.groups
    }
    assert (found.overall.n_cases, found.overall.model_id) == (40, None)
    assert found.overall.difference == pytest.approx(changed.difference / 10)


def test_one_model_of_a_call_is_its_own_family(new_run):
    night(new_run, 0, STEADY, models=("a", "b"))
    run = night(new_run, 1, DROPPED, models=("a", "b"))
    group = only(compared(run, model="b"))

    assert group.model_id == "b"
    assert group.difference.q == group.difference.p


def test_two_models_of_a_run_are_compared_with_each_other(new_run):
    run = night(
        new_run, 0, STEADY, models=("old", "new"),
        result=lambda case, rep, model: {"passed": False} if model == "new" and case < 20 else {},
    )  # fmt: skip
    group = only(compared(run, "night_00", None, model="old", against="new"))

    assert (group.model_id, group.candidate_model_id) == ("old", "new")
    assert group.verdict == "regressed"


def test_several_runs_as_base_are_pooled_case_by_case(new_run):
    night(new_run, 0, STEADY)
    night(new_run, 1, DROPPED)
    run = night(new_run, 2, DROPPED)
    group = only(compared(run, "last:2", "night_02"))

    assert group.base.run_ids == ("night_00", "night_01")
    assert group.base.n_scored == 240
    assert group.base.passed_rate == pytest.approx((sum(STEADY) + sum(DROPPED)) / 240)
    assert group.difference.test == "intersection_union"


def test_times_are_a_paired_ratio_as_scipy_has_it(new_run):
    def slow(factor):
        return lambda case, rep, model: {"e2e_ms": round(factor * (300 + 11 * case + 7 * rep))}

    night(new_run, 0, STEADY, result=slow(1))
    run = night(new_run, 1, STEADY, result=slow(3))
    group = only(compared(run))
    e2e = ratio_of(group, "e2e_ms")

    logs = [
        fmean(math.log(round(3 * (300 + 11 * case + 7 * rep))) for rep in (1, 2, 3))
        - fmean(math.log(300 + 11 * case + 7 * rep) for rep in (1, 2, 3))
        for case in range(40)
    ]
    error = math.sqrt(stats.sem(logs) ** 2 + 0.12**2 * (1 + 1))  # nights vary by 12 %, assumed
    low, high = stats.t.interval(0.95, 3, loc=np.mean(logs), scale=error)
    assert e2e.ratio == pytest.approx(math.exp(np.mean(logs)), rel=1e-9)
    assert (e2e.low, e2e.high) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-9)
    assert (e2e.verdict, e2e.left_out_base, e2e.left_out_candidate) == ("regressed", 0.0, 0.0)
    assert e2e.p == pytest.approx(2 * stats.t.sf(np.mean(logs) / error, 3), rel=1e-9)
    assert (e2e.night.basis, e2e.night.n_runs, e2e.night.df) == ("assumed", 1, 3)
    assert e2e.totals_ratio == pytest.approx(3, rel=1e-3)
    assert ratio_of(group, "input_tokens").verdict == "inconclusive"
    assert ratio_of(group, "cost_usd").reason == "not measured on both sides"


def test_a_ratio_is_censored_when_one_side_lost_the_slow_trials(new_run):
    night(new_run, 0, STEADY)
    run = night(
        new_run, 1, STEADY,
        result=lambda case, rep, model: {"failure_type": "timeout", "passed": False}
        if rep == 3 and case < 20 else {"e2e_ms": 200},
    )  # fmt: skip
    e2e = ratio_of(only(compared(run)), "e2e_ms")

    assert (e2e.verdict, e2e.p, e2e.q) == ("not_comparable", None, None)
    assert e2e.reason.startswith("censored: 0.0 % of the trials of the base and 16.7 %")


def test_ratios_change_no_q_of_the_passed_rate(new_run):
    night(new_run, 0, STEADY)
    slow = night(new_run, 1, DROPPED, result=lambda case, rep, model: {"e2e_ms": 4_000 + case})
    plain = night(new_run, 2, DROPPED)

    one = only(compared(slow)).difference
    other = only(compared(plain, "night_00", "night_02")).difference
    assert one.night.n_runs == 1
    assert other.night.n_runs == 2  # the slow night is history there
    of_history = dict.fromkeys(("night", "detectable", "cases_needed"))
    assert one.model_copy(update=of_history) == other.model_copy(update=of_history)


def test_quarantined_cases_are_listed_and_not_tested(new_run):
    entry = Quarantined(
        suite_id="smoke", case_id=case_name(0), reason="flaky: 3 of 10", author="kim"
    )
    other = entry.model_copy(update={"case_id": case_name(1), "model_id": "another"})
    night(new_run, 0, STEADY)
    run = night(new_run, 1, DROPPED)
    found = compared(run, without=(entry, other))

    assert [(e.case_id, e.reason) for e in found.excluded] == [(case_name(0), "quarantined")]
    assert only(found).difference.n_cases == 39
    assert case_name(0) not in {case.case_id for case in found.cases}


def test_a_flip_is_a_change_of_the_majority(new_run):
    night(new_run, 0, [3, 2, 3, 1, 0], reps=3)
    run = night(new_run, 1, [1, 1, 2, 2, 0], reps=3)
    flips = {case.case_id: case.flip for case in compared(run).cases}

    assert flips == {
        case_name(0): "broke",
        case_name(1): "broke",
        case_name(2): None,
        case_name(3): "fixed",
    }


def test_limits_are_those_of_the_nearest_project_file(tmp_path):
    (tmp_path / "benchlake.yaml").write_text(
        "schema_version: 1\nthresholds:\n  pass_rate_margin: 0.02\n"
    )
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    found = limits_in_force(inner)

    assert (found.thresholds.pass_rate_margin, len(found.sha256)) == (0.02, 64)
    assert Path(found.path) == tmp_path / "benchlake.yaml"
    (tmp_path / "a" / ".git").mkdir()
    assert limits_in_force(inner).path is None
    (inner / "benchlake.yaml").write_text("schema_version: 1\nthresholds:\n  alpha: 2\n")
    with pytest.raises(ConfigError, match="alpha"):
        limits_in_force(inner)

"""The rules of a gate: what passes, what fails, and what cannot be judged."""

from pathlib import Path

import pytest

from analyze.comparison.verdict import limits_of
from analyze.gate.document import gate_document, next_steps
from analyze.gate.rules import judge
from analyze.render.markdown import markdown_page
from schemas.config.project import Thresholds
from schemas.output.regressions import BaselineComparison, GateRules
from tests.support.analyze_cli import on_screen
from tests.support.gates import RULES, comparison, difference, facts, group, ratio


def rules(**fields):
    return GateRules.model_validate(RULES.model_dump() | fields)


def line(found, asked=RULES, **fields):
    """The only line of a gate about one model with one difference."""
    (only,) = judge(comparison(group(found, **fields)), asked).lines
    return only


def time_line(found, **fields):
    asked = rules(metrics=("e2e_ms",), **fields)
    (only,) = judge(comparison(group(difference(), ratios=(found,))), asked).lines
    return only


def test_a_drop_that_is_shown_fails():
    found = line(difference(-0.1, 0.05, q=0.01))

    assert found.outcome == "failed"
    assert "-10.0 points (-15.0 to -5.0) over 30 cases, q 0.010" in found.why


def test_a_drop_that_is_not_shown_passes_with_what_would_not_have_been_seen():
    found = line(difference(-0.1, 0.12, q=0.06))

    assert found.outcome == "passed"
    assert found.why == (
        "no regression shown; drops under 17.2 points would be seen less than four times in five"
    )
    assert found.unseen == pytest.approx(0.1716)


def test_a_rise_passes():
    assert line(difference(0.3, 0.1, q=0.001)).outcome == "passed"


def test_what_the_margin_calls_unchanged_still_fails_when_no_drop_is_tolerated():
    found = difference(-0.01, 0.005, q=0.001)

    assert line(found, verdict="unchanged").outcome == "failed"
    assert line(found, rules(max_drop=0.02), verdict="unchanged").outcome == "passed"


@pytest.mark.parametrize(("drop", "outcome"), [(0.0499, "failed"), (0.05, "passed")])
def test_a_shown_drop_is_held_against_the_tolerated_one(drop, outcome):
    found = line(difference(-0.05, 0.02, q=0.001), rules(max_drop=drop))

    assert found.outcome == outcome


def test_a_drop_blurred_by_a_division_is_not_above_the_tolerated_one():
    value = -(0.1 + 0.2)

    assert line(difference(value, 0.05, q=0.001), rules(max_drop=0.3)).outcome == "passed"


def test_a_tolerated_drop_that_is_shown_is_said():
    found = line(difference(-0.03, 0.02, q=0.001), rules(max_drop=0.05))

    assert found.why.startswith("a drop of 3.0 points is shown, and up to 5.0 points are tolerated")


def test_the_chance_of_a_false_alarm_is_that_of_the_thresholds():
    asked = comparison(group(difference(-0.1, 0.05, q=0.03)))
    strict = asked.limits.model_copy(update={"thresholds": Thresholds(alpha=0.01)})

    assert judge(asked, RULES).outcome == "failed"
    assert judge(asked.model_copy(update={"limits": strict}), RULES).outcome == "passed"


@pytest.mark.parametrize("n_cases", [2, 3, 4])
def test_fewer_than_five_cases_cannot_be_judged(n_cases):
    found = line(difference(-1.0, 0.0, q=0.001, n_cases=n_cases))

    assert found.outcome == "cannot_judge"
    assert f"{n_cases} cases have a verdict on both sides; a gate needs 5" in found.why


def test_five_cases_can_be_judged():
    assert line(difference(-1.0, 0.1, q=0.03, n_cases=5)).outcome == "failed"


def test_no_difference_at_all_cannot_be_judged():
    assert line(None).outcome == "cannot_judge"


def test_what_is_not_comparable_cannot_be_judged_and_says_why():
    reason = "candidate: only 50.0 % of the trials have a verdict: 45 provider"
    found = line(difference(-0.5, 0.1, q=0.001), verdict="not_comparable", reasons=(reason,))

    assert (found.outcome, found.why) == ("cannot_judge", reason)


@pytest.mark.parametrize(
    ("n_clusters", "said"),
    [
        (None, "no number of cases is enough; there are 30"),
        (6, "no number of clusters is enough; there are 6 (30 cases)"),
    ],
)
def test_what_no_size_shows_is_said_in_the_units_that_were_drawn(n_clusters, said):
    found = difference(is_beyond_reach=True, n_clusters=n_clusters)

    *_, last = limits_of(found, "inconclusive", Thresholds())

    assert last.endswith(f"out of reach: {said}")


def test_lines_stand_by_model_whichever_runs_a_metric_is_held_against():
    both = comparison(
        group(difference(), "b", ratios=(ratio(),)), group(difference(), "a", ratios=(ratio(),))
    )
    others = [BaselineComparison(metrics=("e2e_ms",), comparison=both)]
    result = judge(both, rules(metrics=("passed_rate", "e2e_ms")), others=others)

    assert [(found.model_id, found.metric) for found in result.lines] == [
        ("b", "passed_rate"),
        ("b", "e2e_ms"),
        ("a", "passed_rate"),
        ("a", "e2e_ms"),
    ]


def test_nothing_to_compare_cannot_be_judged():
    result = judge(comparison(), RULES)

    assert (result.outcome, result.exit_code, result.lines) == ("cannot_judge", 3, ())


def test_failed_goes_before_cannot_judge_and_that_before_passed():
    failed = group(difference(-0.1, 0.05, q=0.01), "a")
    unclear = group(None, "b")
    fine = group(difference(), "c")

    assert judge(comparison(failed, unclear, fine), RULES).exit_code == 1
    assert judge(comparison(unclear, fine), RULES).exit_code == 3
    assert judge(comparison(fine), RULES).exit_code == 0


def test_a_proof_needs_the_lower_limit_above_the_tolerated_drop():
    asked = rules(prove=True, max_drop=0.05)

    assert line(difference(0.0, 0.05, n_cases=59), asked).outcome == "passed"
    assert line(difference(0.0, 0.07, n_cases=59), asked).outcome == "cannot_judge"
    assert line(difference(-0.2, 0.05, q=0.001), asked).outcome == "failed"


@pytest.mark.parametrize(("drop", "needed"), [(0.05, 59), (0.1, 29), (0.02, 149), (0.5, 5)])
def test_a_proof_needs_enough_cases_to_meet_a_kind_that_broke(drop, needed):
    asked = rules(prove=True, max_drop=drop)
    few = line(difference(0.0, 0.01, n_cases=max(needed - 1, 5)), asked)

    assert line(difference(0.0, 0.01, n_cases=needed), asked).outcome == "passed"
    if needed > 5:
        assert few.outcome == "cannot_judge"
        assert f"cases may break: {needed} are needed" in few.why
    assert (1 - drop) ** needed <= 0.05 < (1 - drop) ** (needed - 1)


def test_with_nothing_tolerated_no_number_of_cases_is_a_proof():
    found = line(difference(0.2, 0.01, n_cases=10_000), rules(prove=True))

    assert found.outcome == "cannot_judge"
    assert "no number of cases is a proof" in found.why


def test_a_drop_that_missing_verdicts_could_explain_passes_and_says_so():
    found = line(difference(-0.1, 0.05, q=0.01, missing_p=0.3))

    assert found.outcome == "passed"
    assert "a drop of 10.0 points is seen and not shown: missing verdicts could" in found.why
    assert line(difference(-0.1, 0.05, q=0.01, missing_p=0.04)).outcome == "failed"


def test_a_limit_on_the_tolerated_drop_itself_proves_nothing():
    found = difference(0.0, 0.1, low90=-0.05)

    assert line(found, rules(prove=True, max_drop=0.05)).outcome == "cannot_judge"


def test_a_proof_with_nothing_tolerated_advises_to_name_a_drop():
    found = line(difference(0.0, 0.01), rules(prove=True))

    assert found.outcome == "cannot_judge"
    assert "--max-drop names what you can live with" in found.why
    assert "--max-drop" not in line(difference(0, 0.1), rules(prove=True, max_drop=0.01)).why


def test_growth_of_a_time_that_is_shown_fails():
    found = time_line(ratio(1.2, 0.05, q=0.01))

    assert found.outcome == "failed"
    assert "e2e_ms is 1.20 times the baseline's (1.14 to 1.26) over 30 cases" in found.why


def test_tolerated_growth_and_a_quicker_answer_pass():
    assert time_line(ratio(1.2, 0.05, q=0.01), max_drop=0.2).outcome == "passed"
    assert time_line(ratio(0.8, 0.05, q=0.01)).outcome == "passed"


def test_growth_that_would_not_have_been_seen_follows_from_the_width():
    found = time_line(ratio(1.0, 0.1, q=0.9))

    assert found.unseen == pytest.approx(1.1 ** ((1.959964 + 0.841621) / 1.959964) - 1)
    assert "growth under 14.6 % would not have been seen" in found.why


def test_a_proof_about_a_time_needs_its_upper_limit_below_the_tolerated_growth():
    assert time_line(ratio(1.0, 0.05), prove=True, max_drop=0.05).outcome == "passed"
    assert time_line(ratio(1.0, 0.2), prove=True, max_drop=0.05).outcome == "cannot_judge"


def test_a_time_that_was_measured_in_too_few_cases_or_censored_cannot_be_judged():
    few = ratio(n_cases=4, ratio=None, low=None, high=None, verdict="not_comparable")
    reason = "censored: 0.0 % of the base and 40.0 % of the candidate are not in it"
    censored = ratio(verdict="not_comparable", reason=reason)

    assert time_line(few).why == "4 cases have a value on both sides; a gate needs 5"
    assert (time_line(censored).outcome, time_line(censored).why) == ("cannot_judge", reason)


def test_every_metric_asked_for_has_its_line_and_no_other():
    found = group(difference(-0.1, 0.05, q=0.01), ratios=(ratio(), ratio(metric="cost_usd")))
    result = judge(comparison(found), rules(metrics=("cost_usd", "e2e_ms")))

    assert [one.metric for one in result.lines] == ["cost_usd", "e2e_ms"]
    assert result.outcome == "passed"


WORSE, FINE = difference(-0.1, 0.05, q=0.01), difference(0.0, 0.04, n_cases=59)
UNCLEAR = None


@pytest.mark.parametrize(
    ("first", "fresh", "prove", "outcome", "confirmed"),
    [
        (WORSE, WORSE, False, "failed", True),
        (WORSE, FINE, False, "passed", False),
        (WORSE, UNCLEAR, False, "cannot_judge", False),
        (FINE, WORSE, False, "passed", False),
        (FINE, FINE, False, "passed", True),
        (FINE, UNCLEAR, False, "passed", False),
        (UNCLEAR, FINE, False, "cannot_judge", False),
        (UNCLEAR, UNCLEAR, False, "cannot_judge", True),
        (WORSE, WORSE, True, "failed", True),
        (WORSE, FINE, True, "cannot_judge", False),
        (FINE, WORSE, True, "cannot_judge", False),
        (FINE, FINE, True, "passed", True),
        (FINE, UNCLEAR, True, "cannot_judge", False),
    ],
)
def test_a_failure_stands_when_both_runs_fail_and_a_proof_when_both_prove(
    first, fresh, prove, outcome, confirmed
):
    asked = rules(prove=prove, max_drop=0.05 if prove else 0.0)
    confirmation = comparison(group(fresh), candidate="fresh")
    (found,) = judge(comparison(group(first)), asked, confirmation).lines

    assert (found.outcome, found.confirmed) == (outcome, confirmed)
    assert ("fresh" in found.why) == (first is not UNCLEAR)


def test_a_fresh_run_without_the_model_confirms_nothing():
    confirmation = comparison(group(WORSE, "other"), candidate="fresh")
    (found,) = judge(comparison(group(WORSE)), RULES, confirmation).lines

    assert found.outcome == "cannot_judge"
    assert "fresh can neither confirm nor clear this: it has nothing of this model" in found.why


def test_a_command_that_goes_on_names_the_folder_of_the_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torn = group(
        verdict="not_comparable", reasons=("too little",), candidate=facts("m", coverage=0.5)
    )
    result = judge(comparison(torn, candidate="night 1"), RULES)

    def command(runs_dir):
        (step,) = next_steps(result, runs_dir)
        return step.partition(" asks")[0]

    assert command(None) == command(Path("runs")) == "collect run --resume 'night 1'"
    assert command(Path("else where")) == "collect run --resume 'night 1' --runs 'else where'"
    assert f"--runs {tmp_path.parent}" in on_screen(gate_document(result, tmp_path.parent))
    assert f"--runs {tmp_path.parent.name}" not in markdown_page(gate_document(result))

"""Nights in which it is known what happened, through run folders and a sync, to the verdicts.

benchmarks/injected.py does the same at full size.
"""

import pytest

from analyze.query.session import open_session
from analyze.regressions.alerts import find_regressions
from benchmarks.made_nights import Happened, Suite, outages_from, write_suite
from benchmarks.verdicts_on_nights import LIMITS, gate, outcomes, score, warned

pytestmark = pytest.mark.peers

NIGHTS = 34
AT = 16

OUTAGES = outages_from(6)
DOWN, HALF, CUT, TIMEOUTS, AGAIN = (outage.night for outage in OUTAGES)

SUITES = {
    name: Suite(name, 2, 20, 3, NIGHTS, tuple(events), seed)
    for seed, (name, events) in enumerate(
        {
            "worse": (Happened("worse", AT, (1,), 0.30),),
            "better": (Happened("better", AT, (0,)),),
            "broken": (Happened("cell", AT, (0,), 0.9, (7,)),),
            "steady": OUTAGES,
            "judged": (Happened("judge", AT, size=0.30),),
            "touched": (Happened("prompt", AT, size=0.30, cases=(3, 11)),),
            "rewritten": (Happened("prompt", AT, size=0.30),),
            "served": (Happened("served", AT, (0,), 0.30),),
            "moved": (Happened("slower", AT, size=1.8),),
        }.items()
    )
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    runs_dir = tmp_path_factory.mktemp("nights") / "runs"
    for suite in SUITES.values():
        write_suite(runs_dir, suite)
    with open_session(runs_dir, progress=pytest.fail) as opened:
        yield opened


@pytest.fixture(scope="module")
def found(session):
    return find_regressions(session, limits=LIMITS)


def alerts(found, suite_id):
    return [shift for shift in found.shifts if shift.series.suite_id == suite_id]


def test_a_model_that_gets_worse_is_one_alert_at_about_the_night_it_did(found):
    (alert,) = alerts(found, "worse")

    assert alert.series.model_id == "worse-m01"
    assert (alert.series.metric, alert.direction, alert.is_worse) == ("passed_rate", "down", True)
    assert SUITES["worse"].run_id(AT - 1) <= alert.first_run <= SUITES["worse"].run_id(AT + 1)
    assert alert.seen_in <= SUITES["worse"].run_id(AT + 6)
    assert alert.low <= -0.30 <= alert.high
    assert alert.changed == ()


def test_a_model_that_gets_better_is_told_as_such(found):
    (alert,) = alerts(found, "better")

    assert (alert.direction, alert.is_worse) == ("up", False)


def test_a_case_that_breaks_is_named_by_itself(found):
    broken = [cell for cell in found.cell_shifts if cell.suite_id == "broken"]

    assert [(cell.model_id, cell.case_id, cell.direction) for cell in broken] == [
        ("broken-m00", "case-07", "down")
    ]


@pytest.mark.parametrize("suite_id", ["steady", "touched", "rewritten"])
def test_outages_and_changed_prompts_are_never_an_alert(found, suite_id):
    assert alerts(found, suite_id) == []
    assert [cell for cell in found.cell_shifts if cell.suite_id == suite_id] == []


@pytest.mark.parametrize(
    ("suite_id", "models", "cause"),
    [
        ("judged", {"judged-m00", "judged-m01"}, "judge"),
        ("served", {"served-m00"}, "served_model: served-m00-1 -> served-m00-2"),
        ("moved", {"moved-m00", "moved-m01"}, "machine: 8 cores, 16 GiB -> 4 cores, 16 GiB"),
    ],
)
def test_what_else_changed_on_that_night_is_named(found, suite_id, models, cause):
    found_alerts = alerts(found, suite_id)

    assert {alert.series.model_id for alert in found_alerts} == models
    for alert in found_alerts:
        assert cause in alert.changed
        assert alert.warnings
        assert set(alert.together) == models - {alert.series.model_id}


def test_every_event_is_told_and_no_alert_is_without_one(found):
    scored = score(SUITES.values(), found)

    assert [one for one in scored.detections if one.alert is None] == []
    assert [alert for alert in scored.false if alert.is_worse] == []


@pytest.mark.parametrize("baseline", ["previous", "history"])
@pytest.mark.parametrize("night", [DOWN, HALF, CUT, AGAIN])
def test_a_gate_does_not_judge_an_outage(session, night, baseline):
    result = gate(session, SUITES["steady"], night, baseline)

    assert (result.outcome, result.exit_code) == ("cannot_judge", 3)
    assert {group.verdict for group in result.comparison.groups} == {"not_comparable"}


def test_a_night_of_time_outs_fails_with_a_warning_that_says_so(session):
    result = gate(session, SUITES["steady"], TIMEOUTS, "history")

    assert result.outcome == "failed"
    assert warned(result)
    assert all("time" in " ".join(group.warnings) for group in result.comparison.groups)


def test_a_gate_fails_the_first_night_of_a_large_drop_and_names_the_model(session):
    result = gate(session, SUITES["worse"], AT, "history")

    assert {line.model_id: line.outcome for line in result.lines} == {
        "worse-m00": "passed",
        "worse-m01": "failed",
    }


@pytest.mark.parametrize("suite_id", ["judged", "rewritten"])
def test_a_gate_does_not_compare_what_was_judged_or_asked_otherwise(session, suite_id):
    suite = SUITES[suite_id]

    assert outcomes(gate(session, suite, AT, "previous")) == {"cannot_judge": 2}
    assert "failed" not in outcomes(gate(session, suite, AT + 1, "previous"))


def test_a_gate_leaves_out_the_cases_whose_prompt_changed(session):
    result = gate(session, SUITES["touched"], AT, "previous")

    assert outcomes(result) == {"passed": 2}
    assert {case.case_id for case in result.comparison.excluded} == {"case-03", "case-11"}
    assert {case.axes for case in result.comparison.excluded} == {("case",)}


def test_a_gate_passes_unchanged_nights(session):
    steady = SUITES["steady"]
    usual = [night for night in range(8, NIGHTS, 2) if steady.outage(night) is None]
    results = [outcomes(gate(session, steady, night, "history")) for night in usual]

    assert sum(one["cannot_judge"] for one in results) == 0
    assert sum(one["failed"] for one in results) <= 2 * len(usual) * 0.05

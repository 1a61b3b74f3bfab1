"""What another tool says of a run stands beside what its rows say, with what it does not say."""

import math
import random
import statistics

import pytest

from analyze.importers.base import new_record, write_run
from analyze.importers.defaults import result_of
from analyze.query.session import open_session
from analyze.query.thresholds import limits_in_force
from analyze.report.build import build_report
from analyze.report.markdown import report_markdown
from schemas.run.import_record import Headline
from schemas.run.result import Score


def report_of(tmp_path, scores, said, *, errors=(), tags=(), verdicts=False):
    """Return the report of an imported run.

    Args:
        tmp_path: for the run.
        scores: of each trial by case and repetition; None: not scored.
        said: headlines of the tool: name, metric, value, error.
        errors: cases that ended in an error, of which a tool has no score at all.
        tags: of the scored cases.
        verdicts: the scores are those, and no scores.
    """
    source = tmp_path / "log.json"
    source.write_text("{}")
    known = {"run_id": "r", "suite_id": "s"}
    record = new_record(
        sources={source.name: source}, source_format="tool", source_name=source.name,
        suite_title="S", started_at_ms=1, **known,
        headlines=tuple(
            Headline(model_id="m", name=name, metric=metric, value=value, stderr=error, tag=tag)
            for tag in (None, *tags)
            for name, metric, value, error in said
        ),
    )  # fmt: skip
    results = [
        result_of(
            **known, model_id="m", model="m", provider="tool", case_id=case, prompt_id=case,
            repetition=repetition, started_at_ms=1, ended_at_ms=2,
            scores=() if verdicts else (Score(name="f1", value=value),), tags=tags,
            passed=value == 1 if verdicts else None,
        )
        for (case, repetition), value in scores.items()
    ]  # fmt: skip
    results += [
        result_of(
            **known, model_id="m", model="m", provider="tool", case_id=case, prompt_id=case,
            repetition=1, started_at_ms=1, ended_at_ms=2, failure_type="exception",
        )
        for case in errors
    ]  # fmt: skip
    runs = tmp_path / "runs"
    write_run(runs, record, results, {source.name: source})
    with open_session(runs) as session:
        limits = limits_in_force(tmp_path)
        return build_report(session, "r", baseline=None, limits=limits)


def test_a_mean_is_over_cases_and_what_has_no_score_is_counted(tmp_path):
    scores = {("a", 1): 1.0, ("a", 2): 0.5, ("b", 1): 0.25, ("c", 1): None}

    report = report_of(tmp_path, scores, [("f1", "mean", 0.5, 0.25), ("f1", "max", 1.0, None)])

    mean, other = report.headlines
    assert (mean.value, mean.stderr, mean.own_value) == (0.5, 0.25, 0.5)
    assert (mean.n_cases, mean.n_scored, mean.n_trials) == (2, 3, 4)
    half = 12.706204736 * statistics.stdev([0.75, 0.25]) / math.sqrt(2)
    assert mean.ci95 == pytest.approx((0.5 - half, 0.5 + half))
    assert (other.value, other.own_value, other.ci95) == (1.0, None, None)
    assert "the same" in report_markdown(report)
    assert "scored 3 of 4 trials" in report_markdown(report)


def test_trials_that_a_tool_left_out_of_its_mean_are_counted(tmp_path):
    scores = {("a", 1): 1.0, ("b", 1): 0.0}
    said = [("f1", "mean", 0.5, None)]

    report = report_of(tmp_path, scores, said, errors=("c", "d"), tags=("one",))

    every, tagged = report.headlines
    assert (every.n_scored, every.n_trials) == (2, 4)
    assert (tagged.tag, tagged.own_value, tagged.n_scored, tagged.n_trials) == ("one", 0.5, 2, 2)
    assert "scored 2 of 4 trials" in report_markdown(report)


def test_what_the_rows_do_not_say_is_shown_beside_it(tmp_path):
    scores = {(f"c{n}", 1): n % 2 for n in range(20)}

    report = report_of(tmp_path, scores, [("f1", "accuracy", 0.6, None), ("gone", "mean", 1, None)])

    found, gone = report.headlines
    assert (found.own_value, gone.own_value, gone.n_scored) == (0.5, None, 0)
    assert "of its rows 0.5" in report_markdown(report)


def test_where_all_pass_the_interval_has_a_width_and_no_difference_is_promised(tmp_path):
    report = report_of(tmp_path, {(f"c{n}", 1): 1.0 for n in range(10)}, [("f1", "mean", 1, 0)])

    (found,) = report.headlines
    assert found.ci95[0] < 0.9
    assert found.ci95[1] == 1.0
    assert found.smallest_difference is None


@pytest.mark.parametrize("unit", [1.0, 10.0])
def test_of_few_verdicts_no_difference_is_promised_that_there_cannot_be(tmp_path, unit):
    scores = {(f"c{n}", 1): unit * (n % 2) for n in range(3)}

    report = report_of(tmp_path, scores, [("f1", "mean", 0.4, None)])

    (found,) = report.headlines
    assert (found.smallest_difference is None) == (unit == 1)
    assert ("two such runs" in report_markdown(report)) == (unit != 1)


def test_the_interval_covers_and_the_difference_is_shown_as_often_as_is_said(tmp_path):
    chance = random.Random(5)
    report = report_of(
        tmp_path,
        {(f"c{n}", 1): chance.betavariate(2, 3) for n in range(50)},
        [("f1", "mean", 0.4, None)],
    )
    (found,) = report.headlines

    def run(shift):
        drawn = [chance.betavariate(2, 3) + shift for _ in range(50)]
        return statistics.fmean(drawn), statistics.variance(drawn) / 50

    covered = shown = 0
    error = statistics.stdev(chance.betavariate(2, 3) for _ in range(5000)) / math.sqrt(50)
    assert found.ci95[1] - found.ci95[0] == pytest.approx(2 * 2.01 * error, rel=0.3)
    for _ in range(2000):
        (one, of_one), (other, of_other) = run(0), run(2.8 * math.sqrt(2) * error)
        covered += abs(one - 0.4) < 2.01 * math.sqrt(of_one)
        shown += other - one > 1.984 * math.sqrt(of_one + of_other)
    assert 0.93 < covered / 2000 < 0.97
    assert 0.77 < shown / 2000 < 0.83
    assert found.smallest_difference == pytest.approx(2.8 * math.sqrt(2) * error, rel=0.3)


def test_a_rate_of_passes_is_that_of_verdicts_where_no_score_has_its_name(tmp_path):
    verdicts = {(f"c{n}", k): float(n % 3 == k % 2) for n in range(12) for k in (1, 2)}
    said = [("pass", "pass rate", 0.4, None), ("pass", "testPassCount", 8.0, None)]

    report = report_of(tmp_path, verdicts, said, errors=("d", "e"), verdicts=True)

    rate, count = report.headlines
    assert (rate.value, rate.own_value) == (0.4, pytest.approx(8 / 24))
    assert rate.ci95[0] < 8 / 24 < rate.ci95[1]
    assert (rate.n_cases, rate.n_scored, rate.n_trials) == (12, 24, 26)
    assert rate.smallest_difference > 0.1
    assert (count.value, count.own_value, count.n_scored) == (8.0, None, 24)


def test_a_run_without_headlines_has_no_such_section(tmp_path):
    report = report_of(tmp_path, {("a", 1): 1.0}, [])

    assert report.headlines == ()
    assert "What the tool says" not in report_markdown(report)

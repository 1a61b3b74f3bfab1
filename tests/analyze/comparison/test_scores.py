"""Scores of judges on both sides: differences by hand, what bars them, and how often they err."""

import json
from statistics import fmean

import numpy as np
import pytest

from analyze.comparison.evidence.judged import CaseScores
from analyze.comparison.scores import ScoredPair, ScoreMeasure, score_difference, score_t
from tests.support.analyze_cli import call
from tests.support.run_rows import sha

BASE = (5, 5, 6, 6, 7, 7)
CANDIDATE = (4, 4, 4, 5, 5, 6)


@pytest.fixture
def night(new_run):
    """Write a run whose trials a profile gave scores, one a case; None: nobody judged."""

    def made(run_id, scores, day=0, *, profile="kind", judge_hash="kind", **fields):
        run = new_run(run_id, day=day)
        for number, score in enumerate(scores):
            trial = run.plan(f"c{number}", **fields)
            run.result(trial, passed=None, objective_pass=None)
            if score is not None:
                hashed = sha(judge_hash) if judge_hash else None
                run.judged(trial, score, evaluation_profile_id=profile, judge_hash=hashed)
        run.write()
        return run

    return made


def compared(run, *more):
    done = call("compare", "before", "after", "--runs", run.runs_dir, "--json", *more)
    (group,) = json.loads(done.out)["groups"]
    return group["scores"]


def test_a_difference_of_scores_is_a_t_over_cases(night):
    """Differences -1 -1 -2 -1 -2 -1: s = 0.5164, t(0.975, 5) = 2.5706."""
    night("before", BASE)
    run = night("after", CANDIDATE, 1)

    (found,) = compared(run)

    half = 2.570582 * 0.516398 / 6**0.5
    assert found["evaluation_profile_id"] == "kind"
    assert (found["n_cases"], found["n_base"], found["n_candidate"]) == (6, 6, 6)
    assert (found["base_score"], found["candidate_score"]) == (6, pytest.approx(14 / 3))
    assert found["difference"] == pytest.approx(-4 / 3)
    assert found["low"] == pytest.approx(-4 / 3 - half, rel=1e-5)
    assert found["high"] == pytest.approx(-4 / 3 + half, rel=1e-5)
    assert found["p"] == pytest.approx(0.00146, rel=0.01)
    assert found["verdict"] == "regressed"

    text = call("compare", "before", "after", "--runs", run.runs_dir).out
    assert "judged worse: score 6.00 -> 4.67 by kind (-1.33, 95 % -1.88 to -0.79" in text


def test_repetitions_are_means_and_clusters_one_draw(new_run):
    for day, (run_id, shift) in enumerate((("before", 0), ("after", -2))):
        run = new_run(run_id, day=day)
        for number in range(7):
            for repetition in (1, 2):
                cluster = "pair" if number > 4 else None
                trial = run.plan(f"c{number}", repetition, cluster=cluster)
                run.result(trial, passed=None, objective_pass=None)
                score = 8 + repetition % 2 + shift * (number % 2)
                run.judged(trial, score, evaluation_profile_id="kind", judge_hash=sha("kind"))
        run.write()

    (found,) = compared(run)

    # units: c0 0, c1 -2, c2 0, c3 -2, c4 0, pair (-2 + 0) / 2
    assert (found["n_cases"], found["n_clusters"], found["n_base"]) == (7, 6, 14)
    assert found["difference"] == pytest.approx(-5 / 6)
    assert found["base_score"] == 8.5


def test_the_same_difference_everywhere_is_no_surer_than_whole_points_allow(night):
    """Six cases a point lower, each scored once: s hides 1/12 a side, so SE is at least 1/6."""
    night("before", BASE)
    run = night("after", [score - 1 for score in BASE], 1)

    (found,) = compared(run)

    assert found["high"] - found["low"] == pytest.approx(2 * 2.570582 / 6, rel=1e-5)
    assert 0 < found["p"] < 0.01


@pytest.mark.parametrize(
    ("after", "fields", "reason"),
    [
        (CANDIDATE, {"judge_hash": "kinder"}, "judged otherwise"),
        (CANDIDATE[:4], {}, "scores of fewer than 5 cases"),
        ((4, 4, 4, 5, 5, None), {}, "censored: 0.0 % of the trials of the base and 16.7 %"),
    ],
)
def test_what_keeps_scores_from_being_compared(night, after, fields, reason):
    night("before", BASE)
    run = night("after", after, 1, **fields)

    (found,) = compared(run)

    assert found["verdict"] == "not_comparable"
    assert found["reason"].startswith(reason)
    assert (found["p"], found["q"]) == (None, None)
    text = call("compare", "before", "after", "--runs", run.runs_dir).out
    assert f"scores of kind are not compared: {reason}" in text


def test_another_way_to_judge_can_be_allowed_and_an_unknown_one_excludes_nothing(night):
    night("before", BASE)
    run = night("after", CANDIDATE, 1, judge_hash="kinder")
    (allowed,) = compared(run, "--allow", "judge")
    assert allowed["verdict"] == "regressed"


def test_a_way_to_judge_that_is_not_known_excludes_nothing(night):
    night("before", BASE)
    run = night("after", CANDIDATE, 1, judge_hash=None)
    (found,) = compared(run)
    assert found["verdict"] == "regressed"


def test_profiles_stand_apart_and_one_on_one_side_is_no_comparison(night, new_run):
    run = night("before", BASE)
    other = new_run("after", day=1)
    for number, score in enumerate(CANDIDATE):
        trial = other.plan(f"c{number}")
        other.result(trial, passed=None, objective_pass=None)
        for profile, said in (("kind", score), ("strict", 1)):
            other.judged(trial, said, evaluation_profile_id=profile, judge_hash=sha(profile))
    other.write()

    assert [one["evaluation_profile_id"] for one in compared(run)] == ["kind"]


def test_answers_that_were_taken_over_are_no_draw(night, new_run):
    run = night("before", BASE)
    later = new_run("after", day=1)
    for number, score in enumerate(CANDIDATE):
        trial = later.plan(f"c{number}")
        reused = {"reused_from_run_id": "before"} if number == 0 else {}
        later.result(trial, passed=None, objective_pass=None, **reused)
        later.judged(trial, score, evaluation_profile_id="kind", judge_hash=sha("kind"))
    later.write()

    (found,) = compared(run)

    assert (found["n_cases"], found["n_candidate"]) == (5, 5)


def test_profiles_are_one_family(new_run):
    """BH over two: the smaller p twice."""
    for day, run_id in enumerate(("before", "after")):
        run = new_run(run_id, day=day)
        for number, scores in enumerate(zip(BASE, CANDIDATE, strict=True)):
            trial = run.plan(f"c{number}")
            run.result(trial, passed=None, objective_pass=None, e2e_ms=None)
            run.judged(trial, scores[day], evaluation_profile_id="kind", judge_hash=sha("kind"))
            run.judged(trial, 5, evaluation_profile_id="mild", judge_hash=sha("mild"))
        run.write()

    kind, mild = compared(run)

    assert kind["q"] == pytest.approx(2 * kind["p"])
    assert (mild["p"], mild["q"], mild["difference"]) == (1, 1, 0)


def test_a_report_has_the_table(night, tmp_path):
    night("before", BASE)
    run = night("after", CANDIDATE, 1)
    page = tmp_path / "r.html"

    asked = ("report", run.runs_dir, "--run", "after", "--baseline", "before")
    done = call(*asked, "--output", page)
    assert done.code == 0, done.err
    assert "judged worse: score 6.00 → 4.67 by kind" in page.read_text()
    assert "judged-differences" in page.read_text()


def pairs_of(before, after):
    """Rows are cases, columns their trials."""
    return tuple(
        ScoredPair(None, *(CaseScores(side.sum(), side.size, frozenset()) for side in both))
        for both in zip(before, after, strict=True)
    )


def drawn(draws, n_cases, n_trials, shift):
    """Scores as judges give them: whole, within 0 to 10, of cases unlike in level and in care."""
    level = draws.uniform(2, 9.5, (n_cases, 1))
    spread = draws.gamma(2, 0.5, (n_cases, 1))
    sides = []
    for change in (0, shift):
        care = draws.normal(0, 0.3, (n_cases, 1))
        noise = draws.laplace(0, 1, (n_cases, n_trials)) * spread
        sides.append(np.clip(np.rint(level + change + care + noise), 0, 10))
    return sides


@pytest.mark.peers
@pytest.mark.parametrize(("n_cases", "n_trials"), [(5, 1), (8, 3), (30, 1), (30, 3)])
def test_equal_sides_are_seldom_called_different_and_seldom_wrongly_the_same(n_cases, n_trials):
    draws = np.random.default_rng(n_cases * 10 + n_trials)
    n_draws, found = 600, {"false": 0, "held": 0, "missed": 0}
    for _ in range(n_draws):
        pairs = pairs_of(*drawn(draws, n_cases, n_trials, 0))
        tested = score_t(pairs)
        said = score_difference(ScoreMeasure("kind", pairs, tested, None), tested.p, 0.05)
        found["false"] += said.verdict in {"improved", "regressed"}
        found["held"] += tested.low <= 0 <= tested.high
        pairs = pairs_of(*drawn(draws, n_cases, n_trials, -0.8))
        tested = score_t(pairs)
        said = score_difference(ScoreMeasure("kind", pairs, tested, None), tested.p, 0.05)
        found["missed"] += said.verdict == "unchanged"
    assert found["false"] / n_draws <= 0.065
    assert found["held"] / n_draws >= 0.935
    assert found["missed"] / n_draws <= 0.05
    if (n_cases, n_trials) == (30, 3):
        shifted = [score_t(pairs_of(*drawn(draws, 30, 3, -0.8))).p for _ in range(200)]
        assert fmean(p <= 0.05 for p in shifted) > 0.8

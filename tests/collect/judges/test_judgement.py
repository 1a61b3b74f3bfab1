"""Lines about judges: what one answer and what all of them leave, by an example worked by hand."""

from dataclasses import replace
from datetime import date

import pytest

from collect.config.evaluation import ResolvedJudge
from collect.config.resolved import LoadedCase
from collect.judges.answer import DIMENSIONS, JudgeAnswer
from collect.judges.asking import Asked, Exchange
from collect.judges.judgement import (
    MAX_EVIDENCE,
    Place,
    asked_fields,
    iteration_line,
    judgement_line,
    question_hash,
)
from collect.providers.base import Reply, Usage
from schemas.config.case import Expectations
from schemas.config.evaluation_profile import EvaluationProfile
from schemas.config.prices import Price
from schemas.run.judgement import JudgeIteration, Judgement, Opinion
from schemas.run.result import CheckResult
from tests.support.wire_model import model as model_of

PLACE = Place("run-1", "m1", "c1", 1, 7, "strict")
MODEL = model_of("http://localhost/v1", model_id="main", provider="openai_chat", model="judge-1")
JUDGE = ResolvedJudge(MODEL, timeout_s=5, retries=0, max_tokens=100)
CASE = LoadedCase(
    "c1", "c1", None, (), None, (), (),
    expectations=Expectations.model_validate({
        "soft_expectations": [{"text": "a", "weight": 3}, {"text": "b"}],
    }),
)  # fmt: skip


PRICE = Price(
    model="judge-1", valid_from=date(2026, 1, 1),
    input_usd_per_million=2_000, output_usd_per_million=5_000,
)  # fmt: skip


def profile(**aggregation):
    return EvaluationProfile.model_validate({
        "schema_version": 1,
        "evaluation_profile_id": "strict",
        "title": "Strict",
        "judges": [{"judge_id": "main", "type": "llm_probe"}],
        "judge_runs": [
            {"judge_run_id": "one", "judge_id": "main", "repetitions": 3, "sample_size": 2},
            {"judge_run_id": "two", "judge_id": "main"},
        ],
        "aggregation": aggregation,
    })  # fmt: skip


def opinion(score, task=None, **verdicts):
    dimensions = dict.fromkeys(DIMENSIONS, score) | {"task": score if task is None else task}
    said = {name.replace("_", "-"): one for name, one in verdicts.items()}
    return Opinion.of(score, dimensions, said)


def exchange(**facts):
    usage = Usage(input_tokens=100, output_tokens=10)
    return Exchange((), Reply(**({"text": "x", "usage": usage, "e2e_ms": 50} | facts)), 2, None)


def line(run="one", iteration=1, said=None, failure=None, replies=None, price=None):
    """Return the line of one answer with an opinion, or of a failure."""
    answer = None
    if failure is None:
        answer = JudgeAnswer(said or opinion(5), 3.0, "fine", {"overall": ("a",) * 50})
    asked = Asked(tuple(replies or [exchange()]), answer, failure)
    run_config = next(one for one in profile().judge_runs if one.judge_run_id == run)
    judge = replace(JUDGE, model=replace(MODEL, price=price))
    fields = asked_fields(
        run_config, iteration, judge, asked, question="a" * 64, artifact_path=None, at_ms=5
    )
    return iteration_line(asked, {**PLACE.fields, **fields})


def test_all_answers_are_counted_repairs_too():
    found = line(replies=[exchange(), exchange(served_model="judge-1-0601")])

    assert (found.n_answers, found.attempt_count, found.e2e_ms) == (2, 4, 100)
    assert (found.input_tokens, found.output_tokens) == (200, 20)
    assert (found.served_model, found.requested_model) == ("judge-1-0601", "judge-1")
    assert (found.opinion.overall, found.overall_as_said) == (5, 3.0)
    assert len(found.evidence["overall"]) == MAX_EVIDENCE
    assert JudgeIteration.model_validate_json(found.model_dump_json(), strict=True) == found


def test_what_one_answer_does_not_say_is_unknown_and_no_zero():
    found = line(replies=[exchange(), exchange(usage=Usage(), e2e_ms=None)])

    assert found.input_tokens is found.output_tokens is found.e2e_ms is found.cost_usd is None


@pytest.mark.parametrize(
    ("billed", "price", "cost", "source"),
    [
        (None, None, None, None),
        (0.25, PRICE, 0.25, "provider"),
        (None, PRICE, 100 * 2e-3 + 10 * 5e-3, "computed"),
    ],
)
def test_a_cost_says_where_it_is_from(billed, price, cost, source):
    found = line(replies=[exchange(cost_usd=billed)], price=price)

    assert (found.cost_usd, found.cost_source) == (cost, source)


def test_a_failure_has_no_opinion():
    found = line(failure="refusal")

    assert found.opinion is found.summary is found.overall_as_said is None
    assert found.failure == "refusal"


def test_all_answers_come_to_what_a_hand_computes():
    lines = [
        line("one", 3, opinion(10, soft_1="missed", soft_2="missed")),  # beyond the sample
        line("one", 1, opinion(4, task=2, soft_1="met", soft_2="cannot_say")),
        line("one", 2, opinion(6, task=4, soft_1="met", soft_2="partly")),
        line("two", 1, opinion(9, task=9, soft_1="partly", soft_2="met")),
    ]
    checks = [CheckResult(check_id="c", kind="k", outcome="failed", dimensions=("task",))]

    found = judgement_line(
        PLACE, profile(pass_threshold=6.5), CASE, lines, checks, judge_hash="7" * 64, at_ms=9
    )

    one, two = found.judge_runs
    assert (one.opinion.overall, one.opinion.dimensions.task) == (5, 3)
    assert (one.n_successful, one.n_failed, one.n_used) == (3, 0, 2)
    assert (two.opinion.overall, two.n_used) == (9, 1)
    assert (found.opinion.overall, found.opinion.dimensions.task) == (7, 6)  # of 5, 9; of 3, 9
    assert (found.status, found.passed, found.failed_dimensions) == ("success", True, ("task",))
    # run one: met, and partly of one that says something; both with two: the lower of each
    assert found.opinion.by_expectation == {"soft-1": "partly", "soft-2": "partly"}
    assert found.soft_score == 0.5
    assert found.check_scores.known == {"task": 0}
    assert Judgement.model_validate_json(found.model_dump_json(), strict=True) == found


def test_a_failed_answer_leaves_its_place_to_the_next():
    lines = [
        line("one", 1, failure="invalid"),
        line("one", 2, opinion(4)),
        line("one", 3, opinion(8)),
        line("two", 1, failure="judge_down"),
    ]

    found = judgement_line(PLACE, profile(), CASE, lines, [], judge_hash="7" * 64, at_ms=9)

    assert found.opinion.overall == 6
    assert found.judge_runs[0].n_failed == found.judge_runs[1].n_failed == 1
    assert (found.passed, found.pass_threshold) == (None, None)


def test_without_any_opinion_it_failed_and_says_nothing_of_the_trial():
    found = judgement_line(
        PLACE,
        profile(pass_threshold=5),
        CASE,
        [line(failure="invalid")],
        [],
        judge_hash="7" * 64,
        at_ms=9,
    )

    assert (found.status, found.opinion, found.passed, found.soft_score) == (
        "failed", None, None, None,
    )  # fmt: skip


def test_the_fingerprint_is_of_questions_and_of_how_they_combine():
    lines = [line("one", 1), line("two", 1)]

    def of(profile, lines):
        found = judgement_line(PLACE, profile, CASE, lines, [], judge_hash="7" * 64, at_ms=9)
        return found.evaluation_fingerprint

    assert of(profile(), lines) == of(profile(), lines[::-1])
    assert of(profile(), lines) != of(profile(method="mean"), lines)
    assert of(profile(), lines) != of(profile(pass_threshold=5), lines)
    other = [lines[0], lines[1].model_copy(update={"question_hash": "b" * 64})]
    assert of(profile(), lines) != of(profile(), other)


def test_a_question_is_another_one_where_judge_or_prompt_are():
    asked = question_hash(JUDGE, "system", "prompt")

    assert asked == question_hash(JUDGE, "system", "prompt")
    assert asked != question_hash(JUDGE, "system", "prompt 2")
    assert asked != question_hash(JUDGE, "system 2", "prompt")
    for change in ({"model": "j2"}, {"request_options": {"temperature": 1}}, {"provider": "x"}):
        other = replace(JUDGE, model=replace(MODEL, **change))
        assert asked != question_hash(other, "system", "prompt")
    assert asked != question_hash(replace(JUDGE, max_tokens=9), "system", "prompt")
    assert asked == question_hash(replace(JUDGE, retries=9, timeout_s=1), "system", "prompt")

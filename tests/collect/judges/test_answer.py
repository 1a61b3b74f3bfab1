"""Answers of judges: found in whatever stands around them, held against the schema, rescaled."""

import json

import jsonschema
import pytest

from collect.judges.answer import DIMENSIONS, AnswerForm, InvalidAnswer
from schemas.config.case import RubricScale

FORM = AnswerForm(RubricScale(), ("hard-1", "soft-1"))


def scored(score=6, *evidence):
    return {"score": score, "evidence": [*evidence]}


def answer(**changes):
    """Return an answer that fits, but for what is changed."""
    said = {
        "summary": "fine",
        "dimensions": dict.fromkeys(DIMENSIONS, scored()),
        "overall": scored(8, "it says so"),
        "expectations": {
            "hard-1": {"verdict": "met", "evidence": ["line 1"]},
            "soft-1": {"verdict": "cannot_say", "evidence": []},
        },
    }
    return {name: value for name, value in (said | changes).items() if value is not None}


def test_everything_of_an_answer_is_kept():
    found = FORM.parsed(json.dumps(answer()))

    assert (found.opinion.overall, found.overall, found.summary) == (8, 8, "fine")
    assert found.opinion.dimensions.known == dict.fromkeys(DIMENSIONS, 6)
    assert found.opinion.by_expectation == {"hard-1": "met", "soft-1": "cannot_say"}
    assert found.evidence["overall"] == ("it says so",)
    assert found.evidence["hard-1"] == ("line 1",)


@pytest.mark.parametrize(
    "around",
    [
        "%s",
        "```json\n%s\n```",
        "Here is my judgement.\n\n%s",
        "%s\nI hope this helps.",
        'The answer ends with {"overall": {"score": 10, "evidence": []}}, which I pass over.\n%s',
        "```json\n{}\n```\nand then\n```json\n%s\n```",
        "<think>a set {x, y} of it {</think> %s",
        "{" * 50 + "%s",
    ],
)
def test_it_is_found_in_what_stands_around_it(around):
    assert FORM.parsed(around % json.dumps(answer())).opinion.overall == 8


def test_the_last_of_two_answers_counts():
    first, last = json.dumps(answer(overall=scored(10))), json.dumps(answer(overall=scored(2)))

    assert FORM.parsed(f"{first}\n{last}").opinion.overall == 2


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"overall": scored(12)}, "`overall.score`: .* less than or equal to 10, found 12"),
        ({"overall": scored(-1)}, "`overall.score`: .* greater than or equal to 0, found -1"),
        ({"overall": scored(True)}, "`overall.score`: .* valid number, found true"),
        ({"overall": scored("8")}, "`overall.score`: .* valid number, found \"8\""),
        ({"overall": {"score": 3}}, "`overall.evidence`: Field required"),
        ({"overall": 7}, "`overall`"),
        ({"summary": ""}, "`summary`"),
        ({"summary": None}, "`summary`: Field required"),
        ({"dimensions": {"task": scored()}}, "`dimensions.process`: Field required.*; and 2 more"),
        ({"expectations": None}, "`expectations`: Field required"),
        ({"expectations": {"hard-1": {"verdict": "yes", "evidence": []}}}, "'met', 'partly'"),
        ({"passed": True}, "`passed`: Extra inputs"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_by_its_place(said, what):
    with pytest.raises(InvalidAnswer, match=what):
        FORM.parsed(json.dumps(answer(**said)))


@pytest.mark.parametrize(
    "text",
    ["", "I would give it a 10.", "[1, 2]", "{" * 100_000, '{"overall": NaN}', '{"a": 1, "a": 2}',
     '{"summary": "' + "\\ud800" * 5 + '"}', '{"a": ' * 50_000],
)  # fmt: skip
def test_no_text_breaks_the_reader(text):
    with pytest.raises(InvalidAnswer):
        FORM.parsed(text)


def test_a_long_wrong_value_is_shown_by_its_beginning():
    with pytest.raises(InvalidAnswer) as caught:
        FORM.parsed(json.dumps(answer(overall={"score": "x" * 10_000, "evidence": []})))

    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("low", "high", "score", "on_ten"),
    [(0, 10, 7, 7), (1, 5, 1, 0), (1, 5, 5, 10), (1, 5, 2, 2.5), (0, 1, 0.3, 3), (-2, 2, 0, 5),
     (0, 100, 85, 8.5)],
)  # fmt: skip
def test_scores_on_another_scale_are_rescaled_and_both_are_kept(low, high, score, on_ten):
    form = AnswerForm(RubricScale(min=low, max=high))
    parts = dict.fromkeys(DIMENSIONS, scored(low))

    found = form.parsed(
        json.dumps(answer(overall=scored(score), dimensions=parts, expectations=None))
    )

    assert found.opinion.overall == pytest.approx(on_ten)
    assert found.overall == score
    assert set(found.opinion.dimensions.known.values()) == {0}


def test_the_schema_that_is_shown_takes_what_is_taken_and_nothing_else():
    check = jsonschema.Draft202012Validator(FORM.schema)

    assert check.is_valid(answer())
    assert not check.is_valid(answer(overall=scored(12)))
    assert not check.is_valid(answer(expectations=None))
    assert not check.is_valid(answer(more=1))
    assert "expectations" not in AnswerForm(RubricScale()).schema["properties"]


def test_every_object_of_the_schema_is_closed_and_wants_all_it_has():
    """Strict structured outputs take no other schema."""
    objects = [FORM.schema, *FORM.schema["$defs"].values()]

    assert len(objects) == 5
    for one in objects:
        assert one["additionalProperties"] is False
        assert set(one["required"]) == set(one["properties"])

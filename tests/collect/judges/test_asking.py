"""A judge that is asked over the wire: schema, repairs, retries, and whose failure is whose."""

import asyncio
import json

import pytest

from collect.config.evaluation import ResolvedJudge
from collect.execute.budget import Budget
from collect.judges.answer import DIMENSIONS, AnswerForm
from collect.judges.asking import MAX_REPAIRS, Asker, ask
from collect.limits import Gate, Limiter
from collect.providers.base import Request
from collect.providers.openai_chat import ChatCompletions
from collect.providers.openai_responses import OpenAIResponses
from schemas.config.case import RubricScale
from tests.support.wire_model import model

FORM = AnswerForm(RubricScale(), ("hard-1",))
SCORED = {"score": 6, "evidence": []}
FITS = json.dumps({
    "summary": "fine",
    "dimensions": dict.fromkeys(DIMENSIONS, SCORED),
    "overall": {"score": 8, "evidence": []},
    "expectations": {"hard-1": {"verdict": "met", "evidence": []}},
})  # fmt: skip


def said(text, finish="stop"):
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return {"id": "c", "model": "judge", "choices": choices, "usage": usage}


def asked(endpoint, *replies, retries=0, provider=ChatCompletions):
    """Ask once at an endpoint that replies so, the last one again and again.

    A reply is a status, or a body.
    """
    left = list(replies)

    def script(wire, request):
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, tuple):
            wire.answer({"error": {"message": reply[1]}}, status=reply[0])
        else:
            wire.answer(reply)

    endpoint.script = script

    async def go():
        judge = provider(model(endpoint.base_url), None)
        slot = await Limiter(Gate(1), 1).enter()
        request = Request(
            ({"role": "user", "content": "Judge."},), 5.0, stream=False, answer_schema=FORM.schema
        )
        try:
            resolved = ResolvedJudge(model(endpoint.base_url), 5.0, retries, max_tokens=100)
            return await ask(Asker(resolved, judge, Budget(None, ())), request, FORM, slot)
        finally:
            await judge.aclose()

    found = asyncio.run(go())
    return found, [request.body for request in endpoint.requests]


def test_an_answer_that_fits_is_asked_for_once_and_held_to_the_schema(endpoint):
    found, bodies = asked(endpoint, said(FITS))

    assert (found.answer.overall, found.failure, len(found.exchanges)) == (8, None, 1)
    (body,) = bodies
    schema = body["response_format"]["json_schema"]
    assert (schema["strict"], schema["schema"]) == (True, FORM.schema)


def test_responses_take_the_schema_where_they_read_it(endpoint):
    reply = {"id": "r", "status": "completed", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": FITS}]}
    ]}  # fmt: skip

    found, (body,) = asked(endpoint, reply, provider=OpenAIResponses)

    assert found.answer.overall == 8
    assert body["text"]["format"]["type"] == "json_schema"
    assert body["text"]["format"]["schema"] == FORM.schema


def test_a_server_that_takes_no_schema_is_asked_without_and_not_again(endpoint):
    found, bodies = asked(
        endpoint, (400, "response_format is not supported"), said("no"), said(FITS)
    )

    assert found.answer.overall == 8
    assert ["response_format" in body for body in bodies] == [True, False, False]
    (note,) = found.exchanges[0].reply.notes
    assert "refuses a JSON Schema" in note


def test_what_does_not_fit_is_shown_with_what_is_wrong(endpoint):
    wrong = FITS.replace("8", "80")

    found, bodies = asked(endpoint, said("I like it."), said(wrong), said(FITS))

    assert found.answer.overall == 8
    assert [one.problem is None for one in found.exchanges] == [False, False, True]
    first, second = bodies[1]["messages"][1:], bodies[2]["messages"][3:]
    assert first[0]["content"] == "I like it."
    assert "no JSON object" in first[1]["content"]
    assert second[0]["content"] == wrong
    assert "`overall.score`" in second[1]["content"]


def test_an_answer_that_never_fits_is_invalid_after_the_last_repair(endpoint):
    found, bodies = asked(endpoint, said("10 of 10!"))

    assert (found.answer, found.failure) == (None, "invalid")
    assert len(bodies) == len(found.exchanges) == MAX_REPAIRS + 1


@pytest.mark.parametrize(
    ("reply", "failure", "times"),
    [
        (said(FITS[:100], "length"), "truncated", 1),
        (said("I cannot judge this.", "content_filter"), "refusal", 1),
        (said(FITS, "refusal"), "refusal", 1),
        (said(""), "no_response", MAX_REPAIRS + 1),
        ((500, "broken"), "judge_down", 1),
        ((401, "who are you?"), "judge_down", 1),
        ((404, "no such model"), "judge_down", 1),
    ],
)
def test_a_judge_that_fails_is_named_by_how(endpoint, reply, failure, times):
    found, bodies = asked(endpoint, reply)

    assert (found.answer, found.failure) == (None, failure)
    assert len(bodies) == times
    assert found.exchanges[-1].problem


def test_a_whole_answer_counts_though_the_server_says_it_was_cut(endpoint):
    found, _ = asked(endpoint, said(FITS, "length"))

    assert found.answer.overall == 8


def test_a_request_that_failed_on_the_way_is_made_again(endpoint):
    found, bodies = asked(endpoint, (503, "later"), (503, "later"), said(FITS), retries=3)

    assert found.answer.overall == 8
    assert len(bodies) == 3
    assert len(found.exchanges) == 1


@pytest.mark.parametrize("score", [0, 4, 10])
def test_no_score_is_asked_for_again(endpoint, score):
    found, bodies = asked(endpoint, said(FITS.replace("8", str(score))))

    assert (found.answer.overall, len(bodies)) == (score, 1)

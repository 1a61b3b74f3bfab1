"""OpenRouter after its documentation: what is asked for, who served, what it cost, how it fails."""

import json

import pytest

from collect.providers import provider_of
from tests.support import wire_model
from tests.support.wire_model import model

MESSAGES = ({"role": "user", "content": "Hi."},)
ASKED = "openai/gpt-4o-mini"
USAGE = {
    "prompt_tokens": 194,
    "completion_tokens": 12,
    "total_tokens": 206,
    "cost": 0.00014,
    "is_byok": False,
    "cost_details": {"upstream_inference_cost": 0.00014},
    "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 50, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 8},
}


def ask(endpoint, *, stream=True, settings=(), **fields):
    facts = {"provider": "openrouter", "model": ASKED, "routing": "unpinned"} | fields
    asked = model(endpoint.base_url, **facts)
    opened = lambda: provider_of(asked, "k-1", None)  # noqa: E731
    return wire_model.ask(opened, MESSAGES, stream=stream, settings=settings)


def piece(text="", finish=None, **fields):
    delta = {"role": "assistant", "content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "native_finish_reason": finish}
    return {
        "id": "gen-1",
        "provider": "OpenAI",
        "model": ASKED,
        "object": "chat.completion.chunk",
        "choices": [choice],
    } | fields


def stream_of(answers, *chunks):
    return b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + answers.sse(*chunks)


# ---- what is sent


def test_the_thinking_level_is_asked_for_as_reasoning_effort(endpoint):
    settings = {"temperature": 0.7, "max_tokens": 32, "seed": 7}

    ask(endpoint, settings=settings, thinking_level="high")

    (request,) = endpoint.requests
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert request.headers["authorization"] == "Bearer k-1"
    assert request.body == {
        "model": ASKED,
        "messages": list(MESSAGES),
        "temperature": 0.7,
        "max_tokens": 32,
        "seed": 7,
        "reasoning": {"effort": "high"},
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_routing_preferences_go_into_the_body_as_they_stand(endpoint):
    options = {
        "provider": {"only": ["openai"], "allow_fallbacks": False, "require_parameters": True},
        "models": ["openai/gpt-4o-mini", "openai/gpt-4o"],
        "plugins": [{"id": "web"}],
        "reasoning": {"max_tokens": 200},
    }

    ask(endpoint, request_options=options)

    assert endpoint.requests[0].body.items() >= options.items()
    assert "reasoning_effort" not in endpoint.requests[0].body


# ---- what is read


def test_a_stream_says_who_served_what_it_counted_and_what_it_cost(endpoint, answers):
    thought = {"role": "assistant", "content": "", "reasoning": "Well."}
    thought["reasoning_details"] = [{"type": "reasoning.text", "text": "Well.", "index": 0}]
    endpoint.script = lambda wire, request: wire.stream(
        stream_of(
            answers,
            piece(choices=[{"index": 0, "delta": thought, "finish_reason": None}]),
            piece("Hel"),
            piece("lo"),
            piece(finish="stop"),
            piece(usage=USAGE),
        )
    )

    reply = ask(endpoint, thinking_level="low")

    assert (reply.failure_type, reply.notes) == (None, ())
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("Hello", "Well.", "stop")
    assert (reply.served_model, reply.served_provider) == (ASKED, "OpenAI")
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (194, 12, 8)
    assert (usage.cached_input_tokens, usage.cache_write_tokens) == (100, 50)
    assert usage.source == "native"
    assert usage.raw == USAGE
    assert reply.cost_usd == 0.00014, "the upstream's part is in it"


def test_an_answer_in_one_piece_says_the_same(endpoint, answers):
    body = answers.whole("Hello", model=ASKED, provider="Azure", usage=USAGE)
    endpoint.script = lambda wire, request: wire.answer(body)

    reply = ask(endpoint, stream=False)

    assert (reply.text, reply.served_provider, reply.cost_usd) == ("Hello", "Azure", 0.00014)
    assert (reply.usage.source, reply.usage.input_tokens) == ("native", 194)


@pytest.mark.parametrize(
    ("bill", "cost"),
    [
        ({"cost": 0, "cost_details": {"upstream_inference_cost": 0.036}}, 0.036),
        ({"cost": 0.002, "cost_details": {"upstream_inference_cost": 0.04}}, 0.042),
        ({"cost": 0.002, "cost_details": {"upstream_inference_cost": None}}, None),
        ({"cost": 0.002, "cost_details": None}, None),
    ],
)
def test_with_the_users_own_key_the_upstreams_bill_is_added(endpoint, answers, bill, cost):
    usage = USAGE | {"is_byok": True} | bill
    body = answers.whole("Hi.", model=ASKED, usage=usage)
    endpoint.script = lambda wire, request: wire.answer(body)

    reply = ask(endpoint, stream=False)

    assert reply.cost_usd == (None if cost is None else pytest.approx(cost))


@pytest.mark.parametrize("cost", [None, "0.1", True, -1, {"total_cost": 1}])
def test_a_cost_that_is_no_sum_of_money_is_unknown(endpoint, answers, cost):
    body = answers.whole("Hi.", usage=USAGE | {"cost": cost})
    endpoint.script = lambda wire, request: wire.answer(body)

    assert ask(endpoint, stream=False).cost_usd is None


def test_a_free_model_costs_nothing_and_that_is_known(endpoint, answers):
    body = answers.whole("Hi.", usage=USAGE | {"cost": 0})
    endpoint.script = lambda wire, request: wire.answer(body)

    assert ask(endpoint, stream=False).cost_usd == 0


def test_without_usage_nobody_counted(endpoint, answers):
    endpoint.script = lambda wire, request: wire.stream(stream_of(answers, piece("Hi.")))

    reply = ask(endpoint)

    assert (reply.usage.source, reply.cost_usd) == (None, None)


# ---- how it fails

ROWS = {
    400: ("http_400", "error", False, "the model does not take this"),
    401: ("http_401", "auth_error", False, "No auth credentials found"),
    402: ("http_402", "error", False, "Insufficient credits"),
    403: ("http_403", "auth_error", False, "flagged by moderation"),
    404: ("http_404", "skipped_unavailable", False, "No endpoints found for x/y"),
    408: ("http_408", "error", True, "the request timed out"),
    413: ("http_413", "error", False, "Payload too large"),
    422: ("http_422", "error", False, "not understood"),
    429: ("http_429", "rate_limited", True, "Rate limit exceeded"),
    500: ("http_500", "error", True, "Internal Server Error"),
    502: ("http_502", "error", True, "Provider returned error"),
    503: ("http_503", "error", True, "No available model provider meets your routing"),
    524: ("http_524", "error", True, "the upstream did not answer in time"),
    529: ("http_529", "error", True, "the upstream is overloaded"),
}
"""Code → failure type, availability status, whether it is asked again, words."""


def check_row(reply, code):
    failure_type, availability, retryable, words = ROWS[code]
    assert reply.failure_type == failure_type
    assert reply.failure.availability_status == availability
    assert reply.failure.retryable is retryable
    assert not reply.failure.counts_against_model
    assert reply.error_code == str(code)
    assert words in reply.error_message


@pytest.mark.parametrize("code", ROWS)
def test_an_error_means_the_same_as_a_status_in_a_body_and_in_a_stream(endpoint, answers, code):
    error = {"error": {"code": code, "message": ROWS[code][3]}, "user_id": "u"}

    endpoint.script = lambda wire, request: wire.answer(error, status=code)
    check_row(ask(endpoint), code)

    endpoint.script = lambda wire, request: wire.answer(error)
    check_row(ask(endpoint), code)

    broken = piece("", "error") | error
    endpoint.script = lambda wire, request: wire.stream(stream_of(answers, piece("par"), broken))
    reply = ask(endpoint)
    check_row(reply, code)
    assert (reply.http_status, reply.text) == (200, "par")
    assert reply.ttft_ms is None
    assert reply.e2e_ms is None


def test_how_long_to_wait_is_read_from_the_answer(endpoint):
    error = {"error": {"code": 429, "message": "slow down"}}
    endpoint.script = lambda wire, request: wire.answer(
        error, status=429, headers=["Retry-After: 7"]
    )

    assert ask(endpoint).retry_after_s == 7


def test_an_error_of_the_stream_without_a_status_is_an_interruption(endpoint, answers):
    error = {"code": "server_error", "message": "Provider disconnected unexpectedly"}
    broken = piece("", "error", error=error)
    endpoint.script = lambda wire, request: wire.stream(stream_of(answers, piece("par"), broken))

    reply = ask(endpoint)

    assert (reply.failure_type, reply.error_code) == ("stream_interrupted", "server_error")
    assert reply.error_message == "Provider disconnected unexpectedly"
    assert reply.failure.retryable


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_inside_a_choice_is_an_error(endpoint, answers, stream):
    error = {"code": 502, "message": "Upstream idle timeout"}
    inner = {"finish_reason": "error", "error": error}
    message = {"role": "assistant", "content": "par"}
    if stream:
        raw = stream_of(answers, piece(choices=[inner | {"delta": message}]))
        endpoint.script = lambda wire, request: wire.stream(raw)
    else:
        body = {"model": ASKED, "choices": [inner | {"message": message}]}
        endpoint.script = lambda wire, request: wire.answer(body)

    reply = ask(endpoint, stream=stream)

    assert (reply.failure_type, reply.error_code) == ("http_502", "502")
    assert reply.error_message == "Upstream idle timeout"
    assert reply.text == "par"


def test_a_choice_that_ends_in_error_without_words_is_no_answer(endpoint, answers):
    raw = stream_of(answers, piece("par"), piece("", "error"))
    endpoint.script = lambda wire, request: wire.stream(raw)

    reply = ask(endpoint)

    assert reply.failure_type == "stream_interrupted"
    assert reply.error_code == "finish_reason_error"
    assert not reply.failure.counts_against_model


UPSTREAM = {
    "words": ({"provider_name": "Chutes", "raw": "no capacity left"}, "(Chutes: no capacity left)"),
    "an object": (
        {"provider_name": "Azure", "raw": {"error": {"message": "content filter"}}},
        '(Azure: {"error":{"message":"content filter"}})',
    ),
    "moderation": (
        {"provider_name": "OpenAI", "reasons": ["violence"], "flagged_input": "secret words"},
        '(OpenAI: ["violence"])',
    ),
    "a name alone": ({"provider_name": "Chutes"}, "(Chutes)"),
    "raw alone": ({"raw": "boom", "provider_name": None}, "(boom)"),
}


@pytest.mark.parametrize("place", ["status", "body", "stream"])
@pytest.mark.parametrize("what", UPSTREAM)
def test_the_upstreams_own_words_are_kept(endpoint, answers, what, place):
    metadata, words = UPSTREAM[what]
    error = {"code": 403, "message": "Provider returned error", "metadata": metadata}
    if place == "stream":
        raw = stream_of(answers, piece("", "error", error=error))
        endpoint.script = lambda wire, request: wire.stream(raw)
    else:
        status = 403 if place == "status" else 200
        endpoint.script = lambda wire, request: wire.answer({"error": error}, status=status)

    reply = ask(endpoint)

    assert reply.failure_type == "http_403"
    assert reply.error_message == f"Provider returned error {words}"


@pytest.mark.parametrize("metadata", [None, [], "x", {"provider_name": 5, "raw": None}])
def test_metadata_that_say_nothing_add_nothing(endpoint, metadata):
    error = {"code": 502, "message": "down", "metadata": metadata}
    endpoint.script = lambda wire, request: wire.answer({"error": error}, status=502)

    assert ask(endpoint).error_message == "down"


def test_a_key_in_the_upstreams_words_does_not_come_along(endpoint):
    key = "sk-or-v1-" + "0123456789abcdef" * 4
    error = {"code": 401, "message": "no", "metadata": {"raw": json.dumps({"key": key})}}
    endpoint.script = lambda wire, request: wire.answer({"error": error}, status=401)

    assert key not in ask(endpoint).error_message


def test_an_answer_that_chose_its_model_itself_says_so_unless_it_was_to_choose(endpoint, answers):
    body = answers.whole("Hi.", model="mistralai/mistral-nemo", usage=USAGE)
    endpoint.script = lambda wire, request: wire.answer(body)

    (note,) = ask(endpoint, stream=False).notes
    assert "mistralai/mistral-nemo" in note
    assert ask(endpoint, stream=False, model="openrouter/auto").notes == ()
    options = {"models": [ASKED, "mistralai/mistral-nemo"]}
    assert ask(endpoint, stream=False, request_options=options).notes == ()

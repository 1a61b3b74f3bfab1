"""The Responses API against real sockets: what is sent, what is read, what each fault becomes."""

import json

import pytest

from collect.providers import provider_of
from collect.providers.openai_responses import OpenAIResponses
from schemas.failures import classify
from tests.support import wire_model
from tests.support.wire_model import model

MESSAGES = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Who are you?"},
)
USAGE = {
    "input_tokens": 9,
    "output_tokens": 4,
    "input_tokens_details": {"cached_tokens": 5},
    "output_tokens_details": {"reasoning_tokens": 2},
}


def ask(endpoint, script=None, *, key=None, times=1, stream=True, timeout_s=5.0, settings=(), **of):
    """Ask once, or several times over one provider; return the last reply."""
    if script is not None:
        endpoint.script = script
    return wire_model.ask(
        lambda: OpenAIResponses(model(endpoint.base_url, **of), key),
        MESSAGES,
        times=times,
        stream=stream,
        timeout_s=timeout_s,
        settings=settings,
    )


def sse(*events):
    """Return events as a server sends them: the type twice, before the data and in it."""
    return "".join(
        f"event: {one.get('type')}\ndata: {json.dumps(one)}\n\n" for one in events
    ).encode()


def delta(text, kind="output_text"):
    return {"type": f"response.{kind}.delta", "item_id": "msg_1", "delta": text}


def message(*parts):
    return {"type": "message", "role": "assistant", "content": list(parts)}


def said(text):
    return {"type": "output_text", "text": text, "annotations": []}


def response(*output, status="completed", **fields):
    """Return the object of a whole answer, as OpenAI sends it."""
    base = {"object": "response", "model": "served-m", "status": status, "error": None}
    base |= {"incomplete_details": None, "output": list(output), "usage": USAGE}
    return base | fields


def last(*output, kind="completed", **fields):
    return {"type": f"response.{kind}", "response": response(*output, **{"status": kind} | fields)}


CALL = {"type": "function_call", "call_id": "c1", "name": "exec_shell", "arguments": '{"a": 1}'}


def streams(*events):
    return lambda wire, request: wire.stream(sse(*events))


def answers(body, **options):
    return lambda wire, request: wire.answer(body, **options)


# ---- what is sent


def test_the_transport_is_known_by_its_name():
    named = model("http://127.0.0.1:9/v1", provider="openai_responses")
    assert isinstance(provider_of(named, None, None), OpenAIResponses)


def test_the_request_is_what_the_api_says(endpoint):
    settings = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 32}

    ask(endpoint, streams(delta("x"), last()), key="k-1", settings=settings, thinking_level="low")

    (request,) = endpoint.requests
    assert request.line == "POST /v1/responses HTTP/1.1"
    assert request.headers["authorization"] == "Bearer k-1"
    assert request.body == {
        "model": "real-m",
        "input": [{"type": "message"} | one for one in MESSAGES],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_output_tokens": 32,
        "reasoning": {"effort": "low"},
        "store": False,
        "stream": True,
    }


def test_settings_left_out_are_left_to_the_server(endpoint):
    ask(endpoint, answers(response(message(said("Hi.")))), stream=False)

    body = endpoint.requests[0].body
    assert set(body) == {"model", "input", "store", "stream"}
    assert body["stream"] is False
    assert "authorization" not in endpoint.requests[0].headers


def test_request_options_have_the_last_word(endpoint):
    options = {"store": True, "text": {"verbosity": "low"}}

    ask(endpoint, streams(delta("x"), last()), request_options=options)

    assert endpoint.requests[0].body | options == endpoint.requests[0].body


# ---- what is read


def test_a_stream_is_read_with_its_first_token_time_and_usage(endpoint):
    def script(wire, request):
        wire.open_stream()
        created = {"type": "response.created", "response": {"model": "m", "status": "in_progress"}}
        wire.send(sse(created, delta("hmm", "reasoning_text"), delta(None), delta("")))
        wire.sleep(0.1)
        wire.send(sse(delta("so", "reasoning_summary_text"), delta("Hel")))
        wire.sleep(0.1)
        wire.send(sse(delta("lo"), last(message(said("Hello")))))
        wire.close()

    reply = ask(endpoint, script)

    assert reply.failure_type is None
    assert (reply.text, reply.reasoning) == ("Hello", "hmmso")
    assert (reply.finish_reason, reply.served_model) == ("completed", "served-m")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9, 4)
    assert (reply.usage.cached_input_tokens, reply.usage.reasoning_tokens) == (5, 2)
    assert (reply.usage.source, reply.usage.raw) == ("api", USAGE)
    assert 100 <= reply.ttft_ms < reply.e2e_ms, "reasoning and empty deltas are no content"
    assert reply.e2e_ms >= 200
    assert reply.http_status == 200


def test_what_comes_after_the_last_event_is_no_part_of_the_answer(endpoint):
    def script(wire, request):
        wire.open_stream()
        wire.send(sse(delta("all"), last()))
        wire.sleep(0.5)
        wire.send(b"data: [DONE]\n\n")
        wire.close()

    reply = ask(endpoint, script)

    assert (reply.failure_type, reply.text) == (None, "all")
    assert reply.e2e_ms < 450


def test_end_markers_carriage_returns_comments_and_unknown_events_are_fine(endpoint):
    events = sse(
        {"type": "response.queued", "response": None},
        {"type": "response.output_text.annotation.added", "annotation": {"x": [1]}},
        {"type": 5},
        {"type": ["response.completed"]},
        {},
        delta("data: [DONE]\n\n"),
        delta("ü€😀\u2028"),
        last(),
    )
    raw = b": hi\n\ndata: [DONE]\n\n" + events + b"data: [DONE]\n\n"

    reply = ask(endpoint, lambda wire, request: wire.stream(raw.replace(b"\n", b"\r\n")))

    assert (reply.failure_type, reply.text) == (None, "data: [DONE]\n\nü€😀\u2028")


def test_an_answer_that_is_one_object_is_read(endpoint):
    summary = {"type": "summary_text", "text": "short "}
    thought = {"type": "reasoning_text", "text": "long"}
    body = response(
        {"type": "reasoning", "summary": [summary], "content": [thought]},
        message(said("Hel"), said("lo")),
        {"type": "web_search_call", "id": "ws"},
        CALL,
        message({"type": "refusal", "refusal": " no"}),
    )

    reply = ask(endpoint, answers(body), stream=False)

    assert (reply.text, reply.reasoning) == ("Hello no", "short long")
    assert [(one.call_id, one.name, one.arguments) for one in reply.tool_calls] == [
        ("c1", "exec_shell", '{"a": 1}')
    ]
    assert (reply.ttft_ms, reply.failure_type, reply.finish_reason) == (None, None, "completed")
    assert reply.e2e_ms is not None


def test_a_text_that_only_the_last_event_holds_is_taken_from_there(endpoint):
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}

    reply = ask(endpoint, streams(last(thought, message(said("Hello")))))

    assert (reply.text, reply.reasoning, reply.failure_type) == ("Hello", "hm", None)
    assert reply.ttft_ms is None, "nobody saw the first token"


def test_nothing_that_was_streamed_is_read_twice(endpoint):
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    reply = ask(
        endpoint,
        streams(
            delta("hm", "reasoning_summary_text"),
            delta("Hello"),
            {"type": "response.output_text.done", "text": "Hello"},
            {"type": "response.output_item.done", "item": message(said("Hello"))},
            {"type": "response.output_item.done", "item": CALL},
            last(thought, message(said("Hello")), CALL),
        ),
    )

    assert (reply.text, reply.reasoning, len(reply.tool_calls)) == ("Hello", "hm", 1)


def test_a_last_event_may_leave_out_what_was_streamed(endpoint):
    reply = ask(endpoint, streams(delta("Hello"), {"type": "response.completed"}))

    assert (reply.text, reply.failure_type, reply.usage.output_tokens) == ("Hello", None, None)


def test_a_tool_call_without_text_is_an_answer(endpoint):
    def script(wire, request):
        wire.open_stream()
        started = CALL | {"arguments": ""}
        wire.send(sse({"type": "response.output_item.added", "item": started}))
        wire.sleep(0.1)
        wire.send(sse({"type": "response.output_item.done", "item": CALL}, last(CALL)))
        wire.close()

    reply = ask(endpoint, script)

    assert reply.failure_type is None
    (call,) = reply.tool_calls
    assert (call.call_id, call.name, call.arguments) == ("c1", "exec_shell", '{"a": 1}')
    assert reply.ttft_ms < 100 <= reply.e2e_ms


@pytest.mark.parametrize(
    ("arguments", "kept"), [({"a": 1}, '{"a":1}'), (["a"], '["a"]'), (7, "7"), (None, "")]
)
def test_arguments_that_are_no_text_are_kept_as_they_came(endpoint, arguments, kept):
    body = response(CALL | {"arguments": arguments})

    reply = ask(endpoint, answers(body), stream=False)

    assert [one.arguments for one in reply.tool_calls] == [kept]


def test_a_refusal_is_what_the_model_says(endpoint):
    reply = ask(endpoint, streams(delta("I ", "refusal"), delta("won't.", "refusal"), last()))

    assert (reply.text, reply.failure_type) == ("I won't.", None)
    assert reply.ttft_ms is not None


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], {"input_tokens": None, "input_tokens_details": None},
     {"input_tokens": 2**63, "output_tokens": -1,
      "output_tokens_details": {"reasoning_tokens": 1.5},
      "input_tokens_details": {"cached_tokens": True}},
     {"input_tokens": 10**40, "output_tokens": "7", "input_tokens_details": [5]}],
)  # fmt: skip
def test_a_number_of_tokens_that_nobody_said_is_unknown_and_not_none(endpoint, usage):
    reply = ask(endpoint, streams(delta("x"), last(usage=usage)))

    tokens = reply.usage
    assert reply.failure_type is None
    assert tokens.input_tokens is tokens.output_tokens is None
    assert (
        tokens.cached_input_tokens is tokens.reasoning_tokens is tokens.cache_write_tokens is None
    )


def test_a_server_that_refuses_to_stream_is_asked_once_without(endpoint):
    def script(wire, request):
        if request.body["stream"]:
            wire.answer({"error": {"message": "stream is not supported"}}, status=400)
        else:
            wire.answer(response(message(said("Hi."))))

    reply = ask(endpoint, script, times=2)

    assert (reply.text, reply.ttft_ms) == ("Hi.", None)
    assert [request.body["stream"] for request in endpoint.requests] == [True, False, False]


def test_a_server_that_ignores_stream_is_read_all_the_same(endpoint):
    reply = ask(endpoint, answers(response(message(said("Hi.")))))

    assert reply.text == "Hi."
    assert any("`stream`" in note for note in reply.notes)


def test_what_a_broken_stream_had_told_of_its_model_is_kept(endpoint):
    created = {"type": "response.created", "response": {"model": "m", "usage": USAGE}}

    reply = ask(endpoint, streams(created, delta("par")), settings={"max_tokens": 4})

    assert (reply.failure_type, reply.text) == ("stream_interrupted", "par"), "a break is no cut"
    assert (reply.served_model, reply.finish_reason) == ("m", None)


@pytest.mark.parametrize("name", [5, None, ["m"]])
def test_a_name_of_a_model_that_is_none_is_unknown(endpoint, name):
    reply = ask(endpoint, streams(delta("x"), last(model=name)))

    assert (reply.failure_type, reply.served_model) == (None, None)


# ---- answers that were cut off


def test_a_cut_at_the_limit_is_the_models_failure_as_the_server_says_it(endpoint):
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    script = streams(delta("a b"), last(kind="incomplete", **details))

    reply = ask(endpoint, script)

    assert (reply.failure_type, reply.text) == ("output_truncated", "a b")
    assert reply.finish_reason == reply.error_code == "max_output_tokens"
    assert reply.usage.output_tokens == 4
    assert reply.ttft_ms is not None
    assert reply.e2e_ms is not None
    assert (reply.failure.availability_status, reply.failure.cause) == ("ok", "model")


@pytest.mark.parametrize("whole", [False, True])
def test_a_completed_answer_whose_object_says_otherwise_is_incomplete(endpoint, whole):
    details = {"incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"}
    body = response(message(said("a b")), **details)
    script = answers(body) if whole else streams({"type": "response.completed", "response": body})

    reply = ask(endpoint, script, stream=not whole)

    assert (reply.failure_type, reply.text) == ("output_truncated", "a b")


@pytest.mark.parametrize("status", ["completed", "in_progress", None, 5])
def test_an_event_that_says_incomplete_is_believed_whatever_its_object_says(endpoint, status):
    reply = ask(endpoint, streams(delta("a"), last(kind="incomplete", status=status)))

    assert reply.failure_type == "output_truncated"


@pytest.mark.parametrize("details", [{"reason": "content_filter"}, {"reason": 5}, {}, None, "x"])
def test_an_answer_that_was_stopped_for_another_reason_is_no_whole_answer(endpoint, details):
    reply = ask(endpoint, streams(delta("a"), last(kind="incomplete", incomplete_details=details)))

    named = "content_filter" if details == {"reason": "content_filter"} else "incomplete"
    assert (reply.failure_type, reply.error_code) == ("output_truncated", named)
    assert named in reply.error_message
    assert reply.failure.availability_status == "ok"


def silent(text):
    """Return an answer of llama.cpp, which is `completed` always."""
    body = response(message(said(text)))
    del body["incomplete_details"]
    return body


@pytest.mark.parametrize("text", ["a b c d", ""], ids=["text", "spent on reasoning"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_that_the_server_cannot_tell_of_is_found_by_the_count(endpoint, stream, text):
    ended = {"type": "response.completed", "response": silent(text)}
    script = streams(delta(text), ended) if stream else answers(silent(text))

    reply = ask(endpoint, script, stream=stream, settings={"max_tokens": 4})

    assert (reply.failure_type, reply.text) == ("output_truncated", text)
    assert (reply.finish_reason, reply.error_code) == ("completed", "max_output_tokens")
    assert reply.e2e_ms is not None

    longer = ask(endpoint, script, stream=stream, settings={"max_tokens": 5})
    assert longer.failure_type == (None if text else "empty_response")
    assert ask(endpoint, script, stream=stream).failure_type == longer.failure_type


def test_a_server_that_can_tell_of_a_cut_is_believed(endpoint):
    reply = ask(endpoint, streams(delta("a b c d"), last()), settings={"max_tokens": 4})

    assert reply.failure_type is None


def test_a_limit_among_the_request_options_counts(endpoint):
    script = answers(silent("a b c d"))

    reply = ask(endpoint, script, stream=False, request_options={"max_output_tokens": 3})

    assert reply.failure_type == "output_truncated"


# ---- faults

FAILED = {
    "rate_limit_exceeded": ("http_429", "rate_limited", True),
    "insufficient_quota": ("http_429", "rate_limited", True),
    "server_error": ("http_500", "error", True),
    None: ("http_500", "error", True),
    "503": ("http_503", "error", True),
    "invalid_prompt": ("invalid_response", "error", False),
    "of tomorrow": ("invalid_response", "error", False),
}


@pytest.mark.parametrize("code", FAILED)
@pytest.mark.parametrize("whole", [False, True])
def test_a_response_that_failed_means_what_its_code_says(endpoint, code, whole):
    failure_type, availability, retryable = FAILED[code]
    error = {"code": code, "message": "no luck"} if code else None
    body = response(status="failed", error=error)
    script = streams(delta("par"), {"type": "response.failed", "response": body})

    reply = ask(endpoint, answers(body) if whole else script, stream=not whole)

    assert (reply.failure_type, reply.error_code) == (failure_type, code)
    assert reply.error_message == ("no luck" if code else "an error without words")
    assert reply.failure.availability_status == availability
    assert reply.failure.retryable is retryable
    assert reply.failure.cause == "provider"
    assert reply.text == ("" if whole else "par")


def test_a_failure_beside_the_response_is_found(endpoint):
    event = {"type": "response.failed", "error": {"code": "server_error", "message": "boom"}}

    reply = ask(endpoint, streams(event))

    assert (reply.failure_type, reply.error_message) == ("http_500", "boom")


@pytest.mark.parametrize(
    ("event", "code", "words"),
    [
        ({"type": "error", "code": "server_error", "message": "boom"}, "server_error", "boom"),
        ({"type": "error", "code": None, "message": None}, "error_event", "an error without words"),
        ({"type": "error", "error": {"type": "overloaded", "message": "b"}}, "overloaded", "b"),
        ({"error": {"code": 500, "message": "boom"}}, "500", "boom"),
        ({"error": "boom"}, "error_event", "boom"),
    ],
)
def test_an_error_event_breaks_the_stream_and_keeps_what_came(endpoint, event, code, words):
    reply = ask(endpoint, streams(delta("par"), event, last(message(said("not this")))))

    failure_type = "http_500" if code in {"500", "server_error"} else "stream_interrupted"
    assert (reply.failure_type, reply.text) == (failure_type, "par")
    assert (reply.error_code, reply.error_message) == (code, words)
    assert reply.failure.retryable
    assert reply.e2e_ms is None


ERROR = {"error": {"code": "overloaded", "message": "try later"}}


@pytest.mark.parametrize(
    ("status", "availability"),
    [(400, "error"), (401, "auth_error"), (403, "auth_error"), (404, "skipped_unavailable"),
     (429, "rate_limited"), (500, "error"), (503, "error"), (302, "error")],
)  # fmt: skip
def test_a_status_code_is_kept_with_the_servers_words(endpoint, status, availability):
    reply = ask(endpoint, answers(ERROR, status=status, headers=["Retry-After: 7"]))

    assert (reply.failure_type, reply.http_status) == (f"http_{status}", status)
    assert (reply.error_code, reply.error_message) == ("overloaded", "try later")
    assert reply.failure.availability_status == availability
    assert reply.retry_after_s == 7
    assert len(endpoint.requests) == 1


def sends(*pieces, then="close"):
    def script(wire, request):
        wire.open_stream()
        for piece in pieces:
            wire.send(piece)
        wire.sleep(1.5 if then == "hang" else 0.02)
        wire.reset() if then == "reset" else wire.close()

    return script


NESTED = b'{"type":' + b"[" * 2_000 + b"]" * 2_000 + b"}"
PAR = sse(delta("par"))

FAULTS = {
    "hang before the answer": (lambda w, r: w.sleep(1.5), "timeout", ""),
    "hang in the answer": (sends(PAR, then="hang"), "timeout", "par"),
    "closed before the answer": (lambda w, r: w.close(), "stream_interrupted", ""),
    "reset before the answer": (lambda w, r: w.reset(), "stream_interrupted", ""),
    "reset in the answer": (sends(PAR, then="reset"), "stream_interrupted", "par"),
    "no last event": (sends(PAR), "stream_interrupted", "par"),
    "an end marker alone": (sends(PAR, b"data: [DONE]\n\n"), "stream_interrupted", "par"),
    "a last event that is torn": (sends(PAR, sse(last())[:-9]), "stream_interrupted", "par"),
    "empty stream": (streams(), "stream_interrupted", ""),
    "a chat completion": (
        lambda w, r: w.stream(b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'),
        "stream_interrupted", ""),
    "half an event": (sends(PAR, b"data: {\n\n"), "invalid_response", "par"),
    "an event that is a list": (sends(PAR, b"data: []\n\n"), "invalid_response", "par"),
    "an event that is null": (sends(PAR, b"data: null\n\n"), "invalid_response", "par"),
    "NaN": (sends(PAR, b'data: {"type": NaN}\n\n'), "invalid_response", "par"),
    "invalid UTF-8": (sends(PAR, b'data: {"type": "\xff"}\n\n'), "invalid_response", "par"),
    "very nested": (sends(PAR, b"data: " + NESTED + b"\n\n"), "invalid_response", "par"),
    "a delta that is a number": (streams(delta(5), last()), "invalid_response", ""),
    "a delta that is a list": (streams(delta(["x"]), last()), "invalid_response", ""),
    "a response that is a list": (
        streams({"type": "response.completed", "response": [1]}), "invalid_response", ""),
    "a response without output": (
        streams({"type": "response.completed", "response": {}}), "invalid_response", ""),
    "a status that is none": (streams(last(status="queued")), "invalid_response", ""),
    "a status that is a list": (streams(last(status=[])), "invalid_response", ""),
    "an item that is a text": (streams(last("x")), "invalid_response", ""),
    "content that is a text": (
        streams(last({"type": "message", "content": "x"})), "invalid_response", ""),
    "a part that is a text": (streams(last(message("x"))), "invalid_response", ""),
    "a part whose text is a number": (streams(last(message(said(5)))), "invalid_response", ""),
    "a tool whose name is a number": (streams(last(CALL | {"name": 5})), "invalid_response", ""),
    "not JSON": (answers(b"<html>hi</html>"), "invalid_response", ""),
    "truncated JSON": (answers(b'{"output": ['), "invalid_response", ""),
    "a list": (answers(b"[]"), "invalid_response", ""),
    "a whole answer without output": (answers({"status": "completed"}), "invalid_response", ""),
    "an answer for later": (answers(response(status="in_progress")), "invalid_response", ""),
    "an odd error": (answers({"error": "odd"}), "invalid_response", ""),
    "no output": (answers(response()), "empty_response", ""),
    "blank text": (answers(response(message(said(" \n")))), "empty_response", " \n"),
    "null text": (answers(response(message(said(None)))), "empty_response", ""),
    "null content": (
        answers(response({"type": "message", "content": None})), "empty_response", ""),
    "a tool without a name": (answers(response(CALL | {"name": None})), "empty_response", ""),
    "a stream without text": (streams(delta(""), delta(None), last()), "empty_response", ""),
    "reasoning alone": (streams(delta("hm", "reasoning_text"), last()), "empty_response", ""),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_becomes_its_failure_type_and_keeps_what_arrived(endpoint, fault):
    script, failure_type, text = FAULTS[fault]

    reply = ask(endpoint, script, timeout_s=0.3 if failure_type == "timeout" else 5.0)

    assert (reply.failure_type, reply.text) == (failure_type, text)
    assert classify(reply.failure_type, accepted=reply.accepted)
    assert reply.accepted
    assert reply.error_message
    finished = failure_type == "empty_response"
    assert (reply.e2e_ms is not None) is finished, "only what the server finished has a duration"


def test_a_refused_connection_is_unavailable(endpoint):
    endpoint.close()

    reply = ask(endpoint)

    assert reply.failure_type == "connection_error"
    assert reply.failure.availability_status == "skipped_unavailable"


def test_answers_cut_into_single_bytes_are_whole(endpoint):
    raw = sse(delta("naïve 你"), delta("好"), last())

    def script(wire, request):
        wire.open_stream()
        for at in range(len(raw)):
            wire.send(raw[at : at + 1])
        wire.close()

    assert ask(endpoint, script).text == "naïve 你好"


def test_a_key_that_the_server_repeats_is_not_kept(endpoint):
    secret = "sk-proj-" + "a1B2c3D4" * 6
    refusal = {"type": "error", "code": "invalid_api_key", "message": f"Incorrect key: {secret}"}

    reply = ask(endpoint, streams(refusal), key=secret)

    assert secret not in repr(reply)

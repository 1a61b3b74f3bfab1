"""The Messages API against real sockets: what is sent, what is read, what each fault becomes."""

import json

import pytest

from collect.providers import provider_of
from collect.providers.anthropic_messages import AnthropicMessages
from collect.providers.base import Request, ToolSchema
from tests.support import wire_model
from tests.support.messages_wire import block, end, event, refusal, start, stream_of
from tests.support.wire_model import model

MESSAGES = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Who are you?"},
)
TOOL = ToolSchema("exec_shell", "Runs a command.", {"type": "object", "properties": {}})
CALL = {"type": "tool_use", "id": "toolu_1", "name": "exec_shell", "input": {"a": 1}}


def root(endpoint):
    return endpoint.base_url.removesuffix("/v1")


def ask(endpoint, script=None, *, key=None, messages=MESSAGES, times=1, stream=True,
        timeout_s=5.0, settings=(), **of):  # fmt: skip
    """Ask once, or several times over one provider; return the last reply."""
    if script is not None:
        endpoint.script = script
    return wire_model.ask(
        lambda: AnthropicMessages(model(root(endpoint), provider="anthropic_messages", **of), key),
        messages,
        times=times,
        stream=stream,
        timeout_s=timeout_s,
        settings=settings,
    )


def message(*content, stop_reason="end_turn", **fields):
    """Return a whole answer, as the API sends it."""
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-m"}
    base |= {"content": list(content), "stop_reason": stop_reason, "stop_sequence": None}
    return base | {"usage": {"input_tokens": 9, "output_tokens": 4}} | fields


def said(text):
    return {"type": "text", "text": text}


def streams(raw):
    return lambda wire, request: wire.stream(raw)


def answers(body, **options):
    return lambda wire, request: wire.answer(body, **options)


# ---- what is sent


def test_the_transport_is_known_by_its_name():
    named = model("http://127.0.0.1:9", provider="anthropic_messages")
    assert isinstance(provider_of(named, None, None), AnthropicMessages)


def test_the_request_is_what_the_api_says(endpoint):
    settings = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 32}

    ask(endpoint, streams(stream_of("x")), key="k-1", settings=settings, thinking_level="low")

    (request,) = endpoint.requests
    assert request.line == "POST /v1/messages HTTP/1.1"
    assert request.headers["x-api-key"] == "k-1"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers
    assert request.body == {
        "model": "real-m",
        "system": "Be brief.",
        "messages": list(MESSAGES[1:]),
        "max_tokens": 32,
        "temperature": 0.7,
        "top_p": 0.9,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "stream": True,
    }


def test_settings_left_out_are_left_to_the_server(endpoint):
    ask(endpoint, answers(message(said("Hi."))), messages=MESSAGES[1:], stream=False)

    assert set(endpoint.requests[0].body) == {"model", "messages", "stream"}
    assert "x-api-key" not in endpoint.requests[0].headers


def test_a_model_is_told_not_to_think(endpoint):
    ask(endpoint, streams(stream_of("x")), thinking_level="none")

    body = endpoint.requests[0].body
    assert body["thinking"] == {"type": "disabled"}
    assert "output_config" not in body


def test_a_conversation_with_calls_is_blocks(endpoint):
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    call = {"call_id": "toolu_1", "name": "exec_shell", "arguments": '{"a": 1}'}
    bad = {"call_id": "toolu_2", "name": "exec_shell", "arguments": "no json"}
    messages = (
        *MESSAGES[:2],
        {"role": "assistant", "content": "I look.", "tool_calls": [call, bad],
         "echo": {"thoughts": [thought]}},
        {"role": "tool", "content": "one", "tool_call_id": "toolu_1"},
        {"role": "tool", "content": "two", "tool_call_id": "toolu_2"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."},
    )  # fmt: skip

    ask(endpoint, streams(stream_of("x")), messages=messages)

    assert endpoint.requests[0].body["messages"] == [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": [
            thought, {"type": "text", "text": "I look."}, CALL,
            CALL | {"id": "toolu_2", "input": {"arguments": "no json"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "two"}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        ({}, None),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": "exec_shell"}, {"type": "tool", "name": "exec_shell"}),
        ({"tool_choice": "required", "withholds_tools": True}, {"type": "none"}),
    ],
)
def test_tools_are_offered_as_the_api_has_them(endpoint, settings, choice):
    ask(endpoint, streams(stream_of("x")), settings={"tools": (TOOL,), **settings})

    body = endpoint.requests[0].body
    schema = {"type": "object", "properties": {}}
    named = {"name": "exec_shell", "description": "Runs a command.", "input_schema": schema}
    assert body["tools"] == [named]
    assert body.get("tool_choice") == choice


# ---- what is read


def test_a_stream_is_read_with_its_first_token_time_and_usage(endpoint):
    def script(wire, request):
        wire.open_stream()
        cached = {"cache_read_input_tokens": 40, "cache_creation_input_tokens": 2}
        wire.send(start(**cached) + event("ping") + block(0, "thinking", "h", "m"))
        wire.sleep(0.1)
        wire.send(block(1, "text", "Hel"))
        wire.sleep(0.1)
        wire.send(block(2, "text", "", "lo") + end(output_tokens=7))
        wire.close()

    reply = ask(endpoint, script)

    assert reply.failure_type is None
    assert (reply.text, reply.reasoning) == ("Hello", "hm")
    assert (reply.finish_reason, reply.served_model) == ("end_turn", "served-m")
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens) == (11 + 40 + 2, 7)
    assert (usage.cached_input_tokens, usage.cache_write_tokens, usage.source) == (40, 2, "api")
    assert usage.raw["input_tokens"] == 11, "as the server said it"
    assert 100 <= reply.ttft_ms < reply.e2e_ms, "thoughts are no content"
    assert reply.e2e_ms >= 200
    assert reply.http_status == 200


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("padding", ["", "   "])
def test_the_last_event_ends_a_stream_whose_body_does_not(endpoint, newline, padding):
    last = f'event: message_stop\ndata: {{"type":"message_stop"{padding}}}\n\n'.encode()
    delta = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3})
    raw = (start() + block(0, "text", "all") + delta + last).replace(b"\n", newline)

    def script(wire, request):
        wire.open_stream()
        for at in range(0, len(raw), 7):
            wire.send(raw[at : at + 7])
        wire.sleep(60)

    reply = ask(endpoint, script, timeout_s=20)

    assert (reply.failure_type, reply.text) == (None, "all")
    assert reply.e2e_ms < 10_000


def test_a_text_that_spells_the_last_event_ends_nothing(endpoint):
    text = '\ndata: {"type":"message_stop"}\n\n'

    reply = ask(endpoint, streams(stream_of("before", text, "behind")))

    assert (reply.failure_type, reply.text) == (None, f"before{text}behind")


def test_an_answer_that_is_one_object_is_read(endpoint):
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk"}
    body = message(thought, sealed, said("Hel"), CALL, {"type": "of_tomorrow"}, said("lo"),
                   stop_reason="tool_use")  # fmt: skip

    reply = ask(endpoint, answers(body), stream=False)

    assert (reply.text, reply.reasoning) == ("Hello", "hm")
    assert [(one.call_id, one.name, one.arguments) for one in reply.tool_calls] == [
        ("toolu_1", "exec_shell", '{"a":1}')
    ]
    assert reply.echo == {"thoughts": [thought, sealed]}
    assert (reply.ttft_ms, reply.failure_type, reply.finish_reason) == (None, None, "tool_use")
    assert reply.e2e_ms is not None


def test_a_streamed_call_has_its_arguments_and_the_signed_thought_before_it(endpoint):
    raw = start() + block(0, "thinking", "h", "m") + block(1, "tool_use", '{"comm', 'and": "ls"}')

    reply = ask(endpoint, streams(raw + end("tool_use")))

    (call,) = reply.tool_calls
    assert (call.call_id, call.name, call.arguments) == ("toolu_1", "Bash", '{"command": "ls"}')
    assert reply.echo == {"thoughts": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]}
    assert reply.failure_type is None
    assert reply.ttft_ms is not None


def test_a_call_without_arguments_has_none(endpoint):
    reply = ask(endpoint, streams(start() + block(0, "tool_use") + end("tool_use")))

    assert [one.arguments for one in reply.tool_calls] == ["{}"]


@pytest.mark.parametrize(
    "usage", [None, [], {"input_tokens": -1, "output_tokens": 1.5, "cache_read_input_tokens": "7"}]
)
def test_a_number_of_tokens_that_nobody_said_is_unknown_and_not_none(endpoint, usage):
    reply = ask(endpoint, answers(message(said("x"), usage=usage)), stream=False)

    assert reply.failure_type is None
    assert reply.usage.input_tokens is reply.usage.output_tokens is None
    assert reply.usage.cached_input_tokens is reply.usage.cache_write_tokens is None


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_cut_at_the_limit_is_the_models_failure(endpoint, reason):
    reply = ask(endpoint, streams(stream_of("a b", stop_reason=reason)))

    assert (reply.failure_type, reply.text) == ("output_truncated", "a b")
    assert reply.finish_reason == reply.error_code == reason
    assert (reply.failure.availability_status, reply.failure.cause) == ("ok", "model")


@pytest.mark.parametrize("reason", ["refusal", "pause_turn"])
def test_an_answer_that_was_stopped_is_no_whole_answer(endpoint, reason):
    reply = ask(endpoint, streams(stream_of("a", stop_reason=reason)))

    assert (reply.failure_type, reply.error_code) == ("output_truncated", reason)
    assert reason in reply.error_message


def test_an_answer_without_text_is_the_models_failure(endpoint):
    reply = ask(endpoint, streams(start() + block(0, "thinking", "hm") + end()))

    assert (reply.failure_type, reply.failure.cause) == ("empty_response", "model")


# ---- faults


@pytest.mark.parametrize(
    ("kind", "failure_type"),
    [("overloaded_error", "http_529"), ("rate_limit_error", "http_429"),
     ("api_error", "http_500"), ("of_tomorrow", "stream_interrupted")],
)  # fmt: skip
def test_an_error_in_a_stream_is_what_its_status_would_have_been(endpoint, kind, failure_type):
    error_event = f"event: error\ndata: {json.dumps(refusal(kind, 'busy'))}\n\n".encode()

    reply = ask(endpoint, streams(start() + block(0, "text", "par") + error_event))

    assert (reply.failure_type, reply.error_code, reply.text) == (failure_type, kind, "par")
    assert reply.error_message == "busy"
    assert reply.failure.cause == "provider"


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_a_refusal_is_its_status_with_the_words_of_the_server(endpoint, status):
    reply = ask(endpoint, answers(refusal("some_error", "no way"), status=status))

    assert (reply.failure_type, reply.error_code) == (f"http_{status}", "some_error")
    assert reply.error_message == "no way"


@pytest.mark.parametrize(
    "raw",
    [start(), start() + block(0, "text", "par"),
     start() + block(0, "text", "par") + event("message_delta", delta={}, usage={}),
     stream_of("par")[:-3]],
    ids=["nothing", "text", "no reason", "torn"],
)  # fmt: skip
def test_a_stream_without_its_last_event_is_interrupted(endpoint, raw):
    reply = ask(endpoint, streams(raw))

    assert reply.failure_type == "stream_interrupted"
    assert reply.text in {"", "par"}
    assert reply.served_model == "served-m"


@pytest.mark.parametrize(
    "raw",
    [
        b"data: [1]\n\n", b"data: {\n\n",
        event("message_start", message=5), event("message_start", message={"content": "x"}),
        event("content_block_start", index="0", content_block={"type": "text", "text": ""}),
        event("content_block_start", index=0, content_block="x"),
        event("content_block_delta", index=3, delta={"type": "text_delta", "text": "x"}),
        block(0, "text", "x") + event("content_block_delta", index=0, delta=7),
        block(0, "text", "x") + event("content_block_delta", index=0,
                                      delta={"type": "text_delta", "text": ["x"]}),
        event("content_block_start", index=0, content_block={"type": "text", "text": 7}) + end(),
        event("content_block_start", index=0,
              content_block={"type": "tool_use", "name": 7, "id": "x"}) + end(),
    ],
)  # fmt: skip
def test_what_is_not_what_the_api_says_is_an_invalid_response(endpoint, raw):
    reply = ask(
        endpoint, streams(raw if raw.startswith(b"event: message_start") else start() + raw)
    )

    assert reply.failure_type == "invalid_response"
    assert reply.error_message


@pytest.mark.parametrize(
    "body", [[], 5, {}, {"content": None}, {"content": "x"}, {"content": [5]},
             message({"type": "text", "text": 5})],
)  # fmt: skip
def test_an_object_that_is_no_message_is_an_invalid_response(endpoint, body):
    reply = ask(endpoint, answers(body), stream=False)

    assert reply.failure_type == "invalid_response"


def test_unknown_events_and_fields_are_passed_over(endpoint):
    raw = (
        b": hi\n\n" + event("of_tomorrow", x=[1]) + b"data: {}\n\n" + b'data: {"type": 5}\n\n'
        + start() + block(0, "text", "ü€😀\u2028") + event("content_block_delta", index=0,
        delta={"type": "citations_delta", "citation": {}}) + end()
    )  # fmt: skip

    reply = ask(endpoint, streams(raw))

    assert (reply.failure_type, reply.text) == (None, "ü€😀\u2028")


# ---- for tools that ask by themselves


def relayed(body, headers=None, **settings):
    provider = AnthropicMessages(model("http://127.0.0.1:9", provider="anthropic_messages"), "k")
    request = Request((), 5.0, stream=True, **settings)
    return provider.relayed(body, request, headers or {})


def test_settings_of_the_run_stand_in_place_of_the_tools_own():
    body = {"model": "theirs", "max_tokens": 32_000, "messages": [1], "system": "s", "tools": [2],
            "temperature": 1, "stream": True}  # fmt: skip

    kept = relayed(body).body
    assert kept == body | {"model": "real-m"}
    ours = relayed(body, max_tokens=9, temperature=0.0).body
    assert ours == body | {"model": "real-m", "max_tokens": 9, "temperature": 0.0}


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"anthropic-beta": "a-1,b-2", "x-api-key": "theirs", "cookie": "c"},
         {"anthropic-beta": "a-1,b-2"}),
        ({"anthropic-beta": "a\r\nx-evil: 1"}, {}),
        ({"anthropic-beta": "ä"}, {}),
        ({"anthropic-beta": "a" * 9_000}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_headers_without_which_a_body_is_refused_are_handed_on(headers, sent):
    assert relayed({"stream": True}, headers).headers == sent

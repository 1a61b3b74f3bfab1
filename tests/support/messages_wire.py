"""The Messages API as the Claude Code CLI meets it: scripts for `tests.support.endpoint`."""

import json


def event(name, **fields):
    """Return one named server-sent event."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def start(model="served-m", **usage):
    """Return the event that begins a message."""
    counts = {"input_tokens": 11, "output_tokens": 1} | usage
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counts,
    }
    return event("message_start", message=message)


def block(index, kind, *deltas):
    """Return the events of one content block; `deltas` are of its own kind."""
    empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
    tool = {"id": "toolu_1", "name": "Bash", "input": {}}
    content = {"type": kind} | empty.get(kind, tool)
    name, field = {
        "text": ("text_delta", "text"),
        "thinking": ("thinking_delta", "thinking"),
        "tool_use": ("input_json_delta", "partial_json"),
    }[kind]
    events = [event("content_block_start", index=index, content_block=content)]
    for delta in deltas:
        what = {"type": name, field: delta}
        events.append(event("content_block_delta", index=index, delta=what))
    if kind == "thinking":
        signed = {"type": "signature_delta", "signature": "c2ln"}
        events.append(event("content_block_delta", index=index, delta=signed))
    return b"".join([*events, event("content_block_stop", index=index)])


def end(stop_reason="end_turn", output_tokens=3):
    """Return the events that end a message."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    last = event("message_delta", delta=delta, usage={"output_tokens": output_tokens})
    return last + event("message_stop")


def stream_of(*texts, model="served-m", stop_reason="end_turn", **usage):
    """Return a whole streamed answer."""
    output_tokens = usage.pop("output_tokens", 3)
    body = start(model, **usage) + block(0, "text", *texts)
    return body + end(stop_reason, output_tokens)


def refusal(kind, message):
    """Return the JSON of an error page."""
    return {"type": "error", "error": {"type": kind, "message": message}}


class Messages:
    """Answers HEAD / and hands each POST to `answer(wire, request)`; keeps the POSTs."""

    def __init__(self, answer):
        self.answer = answer
        self.posts = []

    def __call__(self, wire, request):
        if not request.line.startswith("POST "):
            wire.answer(b"")
            return
        self.posts.append(request)
        self.answer(wire, request)


def streams(raw):
    """Return an answer that streams these bytes at once."""
    return lambda wire, request: wire.stream(raw)


def refuses(status, kind="api_error", message="no", headers=()):
    """Return an answer that is an error page."""
    return lambda wire, request: wire.answer(refusal(kind, message), status, headers=headers)

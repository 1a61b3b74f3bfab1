"""A model that calls tools, as each API spells it: turn by turn, then a text."""

import json

from tests.support.endpoint import chunk, sse, usage
from tests.support.messages_wire import event


class ToolModel:
    """A script of an endpoint: each turn is a list of calls `(name, arguments)`, then the text.

    Arguments are a dict, or a text that is sent as it is.
    """

    def __init__(self, *turns, text="Done.", ids=True, says=""):
        self.turns = turns
        self.text = text
        self.ids = ids
        self.says = says
        self.results = []
        """What the model was told of its calls, in the last request."""

    def __call__(self, wire, request):
        body = request.body
        path = request.line.split()[1]
        name = path.rpartition("/")[2]
        make, whole, stream = {
            "responses": (self._items, dict, _response_events),
            "messages": (self._blocks, dict, _block_events),
            "completions": (self._message, _completion, _chunks),
        }[name]
        answer = make(body)
        wire.stream(stream(answer)) if body["stream"] else wire.answer(whole(answer))

    def _next(self, n_turns, body):
        choice = body.get("tool_choice")
        may_call = "tools" in body and choice not in ("none", {"type": "none"})
        return self.turns[n_turns] if may_call and n_turns < len(self.turns) else None

    def _message(self, body):
        messages = body["messages"]
        n_turns = sum(bool(message.get("tool_calls")) for message in messages)
        self.results = [one["content"] for one in messages if one["role"] == "tool"]
        calls = self._next(n_turns, body)
        if calls is None:
            return {"role": "assistant", "content": self.text}
        spelled = [
            {
                "index": number,
                "type": "function",
                "function": {"name": name, "arguments": _text(arguments)},
            } | ({"id": f"call_{n_turns}_{number}"} if self.ids else {})
            for number, (name, arguments) in enumerate(calls)
        ]  # fmt: skip
        return {"role": "assistant", "content": self.says or None, "tool_calls": spelled}

    def _items(self, body):
        results = [one for one in body["input"] if one["type"] == "function_call_output"]
        self.results = [one["output"] for one in results]
        n_turns = n_calls = 0
        while n_calls < len(results):
            n_calls += len(self.turns[n_turns])
            n_turns += 1
        calls = self._next(n_turns, body)
        said = [_said(self.text if calls is None else self.says)]
        output = [one for one in said if calls is None or self.says] + [
            {
                "type": "function_call",
                "id": f"fc_{n_turns}_{number}",
                "call_id": f"call_{n_turns}_{number}" if self.ids else "",
                "name": name,
                "arguments": _text(arguments),
            }
            for number, (name, arguments) in enumerate(calls or ())
        ]
        counts = {"input_tokens": 7, "output_tokens": 3}
        return {
            "object": "response", "status": "completed", "model": "served-m", "output": output,
            "usage": counts, "incomplete_details": None,
        }  # fmt: skip

    def _blocks(self, body):
        blocks = [
            block
            for message in body["messages"]
            for block in (message["content"] if isinstance(message["content"], list) else ())
        ]
        self.results = [one["content"] for one in blocks if one["type"] == "tool_result"]
        turns = [one for one in body["messages"] if one["role"] == "assistant"]
        calls = self._next(len(turns), body)
        text = self.text if calls is None else self.says
        content = [{"type": "text", "text": text}] if text else []
        content += [
            {
                "type": "tool_use",
                "id": f"call_{len(turns)}_{number}" if self.ids else "",
                "name": name,
                "input": json.loads(arguments) if isinstance(arguments, str) else arguments,
            }
            for number, (name, arguments) in enumerate(calls or ())
        ]
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "served-m",
            "content": content, "stop_reason": "end_turn" if calls is None else "tool_use",
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }  # fmt: skip


def _text(arguments):
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _said(text):
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


def _completion(message):
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return {"model": "served-m", "choices": choices, "usage": usage()}


def _chunks(message):
    """Return a stream whose arguments come in two pieces."""
    pieces = [chunk(message["content"])] if message["content"] else []
    for call in message.get("tool_calls", ()):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        first = call | {"function": call["function"] | {"arguments": arguments[:half]}}
        rest = {"index": call["index"], "function": {"arguments": arguments[half:]}}
        pieces += [_calling(first), _calling(rest)]
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    last = {"model": "served-m", "choices": [], "usage": usage()}
    return sse(*pieces, chunk(finish=finish), last)


def _calling(call):
    delta = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}
    return {"model": "served-m", "choices": [delta]}


def _response_events(response):
    events = [{"type": "response.created", "response": {"status": "in_progress"}}]
    for item in response["output"]:
        if item["type"] == "message":
            text = item["content"][0]["text"]
            events.append({"type": "response.output_text.delta", "delta": text})
        events.append({"type": "response.output_item.done", "item": item})
    events.append({"type": "response.completed", "response": response})
    return sse(*events, end=False)


def _block_events(message):
    """Return a stream whose arguments come in two pieces."""
    events = [event("message_start", message=message | {"content": [], "stop_reason": None})]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            first, pieces = block | {"text": ""}, [("text_delta", "text", block["text"])]
        else:
            text = _text(block["input"])
            half = len(text) // 2
            first = block | {"input": {}}
            pieces = [
                ("input_json_delta", "partial_json", one) for one in (text[:half], text[half:])
            ]
        events.append(event("content_block_start", index=index, content_block=first))
        events += [
            event("content_block_delta", index=index, delta={"type": kind, field: piece})
            for kind, field, piece in pieces
        ]
        events.append(event("content_block_stop", index=index))
    delta = {"stop_reason": message["stop_reason"]}
    events.append(event("message_delta", delta=delta, usage={"output_tokens": 3}))
    return b"".join([*events, event("message_stop")])

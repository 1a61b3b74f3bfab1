"""The scripted model of agents, over the Responses API: Codex speaks nothing else."""

import json

from tests.support.agent_model import AgentModel


def sse(*events):
    """Return events as a server sends them."""
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()


def messages_of(items):
    """Return what was sent as messages of chat completions, as far as orders need it."""
    found = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            parts = item["content"] if isinstance(item["content"], list) else []
            text = "".join(one.get("text", "") for one in parts)
            if not text.startswith("<"):  # of Codex's own, before what a user says
                found.append({"role": item["role"], "content": text})
        elif kind.endswith("_output"):
            found.append({"role": "tool", "content": str(item.get("output"))})
    return found


def shell(name, arguments):
    """Return the one command that a call of `AgentModel` is as a call of Codex's shell."""
    if name == "exec":
        return arguments["command"]
    return f"printf %s '{arguments['content']}' > '{arguments['path']}'"


class ResponsesModel(AgentModel):
    """Answers each request by what the user orders; calls are of Codex's `exec_command`."""

    def _messages(self, body):
        return messages_of(body["input"])

    def _beginning(self, number):
        return sse(_begun(number))

    def _answer(self, number, call, text):
        used = {"input_tokens": 100 + number, "output_tokens": 10 + number,
                "total_tokens": 110 + 2 * number, "input_tokens_details": {"cached_tokens": 5},
                "output_tokens_details": {"reasoning_tokens": 2}}  # fmt: skip
        if call is None:
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant",
                    "status": "completed", "content": [part]}  # fmt: skip
            pieces = [{"type": "response.output_text.delta", "item_id": item["id"],
                       "output_index": 0, "content_index": 0, "delta": text}]  # fmt: skip
        else:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                    "name": "exec_command",
                    "arguments": json.dumps({"cmd": shell(*call)})}  # fmt: skip
            pieces = []
        whole = _base(number) | {"status": "completed", "output": [item], "usage": used}
        return sse(
            _begun(number), {"type": "response.output_item.added", "output_index": 0, "item": item},
            *pieces, {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        )  # fmt: skip


def _base(number):
    return {"id": f"resp_{number}", "object": "response", "model": "served-m", "error": None,
            "incomplete_details": None}  # fmt: skip


def _begun(number):
    whole = _base(number) | {"status": "in_progress", "output": []}
    return {"type": "response.created", "response": whole}

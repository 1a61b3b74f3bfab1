"""The scripted model of agents, over the Messages API: Claude Code speaks nothing else."""

import json

from tests.support.agent_model import AgentModel
from tests.support.messages_wire import event


def messages_of(messages):
    """Return what was sent as messages of chat completions, as far as orders need it."""
    found = []
    for message in messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [part.get("content") for part in parts if part["type"] == "tool_result"]
        found += [{"role": "tool", "content": json.dumps(one)} for one in results]
        texts = [part["text"] for part in parts if part["type"] == "text"]
        said = "\n".join(one for one in texts if not one.startswith("<"))  # of its own
        if said:
            found.append({"role": message["role"], "content": said})
    return found


def of_claude(name, arguments):
    """Return a call as Claude Code takes it."""
    if name == "write":
        path = f"/workspace/{arguments['path']}"
        return "Write", {"file_path": path, "content": arguments["content"]}
    return "Bash", {"command": arguments["command"], "description": "As it was told."}


class MessagesModel(AgentModel):
    """Answers each request by what the user orders."""

    def __init__(self, spelled=of_claude):
        super().__init__(spelled, asks_for_titles=True)

    def __call__(self, wire, request):
        if request.line.startswith("POST "):
            super().__call__(wire, request)
        else:
            wire.answer(b"")

    def _messages(self, body):
        return messages_of(body["messages"])

    def _beginning(self, number):
        usage = {"input_tokens": 60 + number, "cache_read_input_tokens": 40, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant",
                   "model": "served-m", "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": usage}  # fmt: skip
        return event("message_start", message=message)

    def _early_usage(self, number):
        return 100 + number, 1

    def _answer(self, number, call, text):
        if call is None:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        else:
            name, arguments = self._spelled(*call)
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        reason = "end_turn" if call is None else "tool_use"
        return b"".join([
            self._beginning(number),
            event("content_block_start", index=0, content_block=block),
            event("content_block_delta", index=0, delta=delta),
            event("content_block_stop", index=0),
            event("message_delta", delta={"stop_reason": reason, "stop_sequence": None},
                  usage={"output_tokens": 10 + number}),
            event("message_stop"),
        ])  # fmt: skip

"""A model for agents on a scripted endpoint: what it does is written in what the user says.

`[write report.md: text]` and `[exec: command]` are calls, each in an answer of its own, before the
text `[say: text]`; `[hang]` never answers after the calls, `[status: 500]` refuses, `[slow: 0.5]`
waits before each answer. Only the newest message of the user that asks for any of these counts.
"""

import json
import re
import threading

from tests.support.endpoint import chunk, sse

ORDER = re.compile(r"\[(write ([^:\]]+)|exec|say|hang|status|slow)(?:: ([^\]]*))?\]")


class AgentModel:
    """Counts what it has answered, for each conversation by the first words of its first turn.

    Args:
        spelled: makes the call of an agent of one of ours, which is `write` or `exec`.
        asks_for_titles: a request without tools is for the title of a session.
    """

    def __init__(self, spelled=lambda name, arguments: (name, arguments), *, asks_for_titles=False):
        self._spelled, self._asks_for_titles = spelled, asks_for_titles
        self.usages = []
        """Of each answer: the mark of its conversation, tokens in and out."""
        self.bodies = []
        self.headers = []
        self._lock = threading.Lock()

    def __call__(self, wire, request):
        messages = self._messages(request.body)
        orders, done = orders_of(messages)
        with self._lock:
            number = len(self.usages) + 1
            self.bodies.append(request.body)
            self.headers.append(request.headers)
        if (status := orders.get("status")) is not None:
            wire.answer({"error": {"message": "scripted"}}, status=int(status))
            return
        if (seconds := orders.get("slow")) is not None:
            wire.sleep(float(seconds))
        if self._asks_for_titles and not request.body.get("tools"):
            orders = {"calls": [], "say": "A title"}
        call = orders["calls"][done] if done < len(orders["calls"]) else None
        if call is None and "hang" in orders:
            with self._lock:
                self.usages.append((mark_of(messages), *self._early_usage(number)))
            wire.open_stream()
            wire.send(self._beginning(number))
            wire.sleep(300)
            return
        with self._lock:
            self.usages.append((mark_of(messages), 100 + number, 10 + number))
        self._send(wire, number, call, orders.get("say", "Done."))

    def _send(self, wire, number, call, text):
        wire.stream(self._answer(number, call, text))

    def _messages(self, body):
        """Return what was sent as messages of chat completions, as far as orders need it."""
        return body["messages"]

    def _beginning(self, number):
        """Return what comes of an answer before it hangs."""
        return sse(chunk("I am"), end=False)

    def _early_usage(self, number):
        """Return the tokens in and out that the beginning of an answer tells of."""
        return 0, 0

    def _answer(self, number, call, text):
        """Return an answer of 100 and 10 tokens more than its number: a call, or a text."""
        pieces = (
            [chunk(text), chunk(finish="stop")]
            if call is None
            else _call(self._spelled(*call), number)
        )
        usage = {"prompt_tokens": 100 + number, "completion_tokens": 10 + number}
        last = {"id": f"chatcmpl-{number}", "model": "served-m", "choices": [], "usage": usage}
        return sse(*({"id": f"chatcmpl-{number}"} | one for one in pieces), last)

    def tokens(self, mark):
        """Return the tokens in and out of the conversations whose first turn has a mark."""
        mine = [one for one in self.usages if one[0] == mark]
        return sum(one[1] for one in mine), sum(one[2] for one in mine)


def _text(message):
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())


def orders_of(messages):
    """Return what the newest message of the user asks for, and how many calls are answered."""
    users = [number for number, one in enumerate(messages) if one["role"] == "user"]
    last = next((one for one in reversed(users) if ORDER.search(_text(messages[one]))), users[-1])
    orders = {"calls": []}
    for found in ORDER.finditer(_text(messages[last])):
        name, path, text = found[1], found[2], found[3]
        if path is not None:
            orders["calls"].append(("write", {"path": path, "content": text}))
        elif name == "exec":
            orders["calls"].append(("exec", {"command": text}))
        else:
            orders[name] = text
    return orders, sum(one["role"] == "tool" for one in messages[last:])


def mark_of(messages):
    """Return the word behind the first `#` of a user's."""
    said = " ".join(_text(one) for one in messages if one["role"] == "user")
    found = re.search(r"#(\w+)", said)
    return None if found is None else found[1]


def _call(call, number):
    name, arguments = call
    spelled = {
        "index": 0,
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    delta = {"role": "assistant", "content": None, "tool_calls": [spelled]}
    first = {"model": "served-m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return [first, chunk(finish="tool_calls")]

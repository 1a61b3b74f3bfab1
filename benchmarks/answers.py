"""What the endpoint of the benchmarks says, and which requests it fails.

An answer names its prompt by a checksum, so that a client which mixes up two answers fails its own
checks. Bytes are put together from ready-made parts: the endpoint must cost next to nothing.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

MODEL = "bench-model"
FAULTS = ("429", "500", "reset", "truncate")
SCORED = {"score": 8, "evidence": ["ok"]}
SIDES = ("task", "process", "autonomy", "closeness", "efficiency", "spark")
JUDGEMENT = json.dumps(
    {"summary": "fine", "dimensions": dict.fromkeys(SIDES, SCORED), "overall": SCORED}
)
"""What a judge says of everything."""

FILLER = ("and", "so", "it", "is", "said", "once", "more", "here")

JSON_HEAD = b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"
REASONS = {200: b"OK", 404: b"Not Found", 411: b"Length Required"}
REASONS |= {429: b"Too Many Requests", 500: b"Internal Server Error"}

CHAT = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1760000000,"model":"%s","choices":'
    b'[{"index":0,"message":{"role":"assistant","content":"%s"},"logprobs":null,'
    b'"finish_reason":"stop"}],"usage":%s}'
)
CALL = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1760000000,"model":"%s","choices":'
    b'[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1",'
    b'"type":"function","function":{"name":"exec_shell","arguments":"{\\"command\\": \\"%s\\"}"'
    b'}}]},"finish_reason":"tool_calls"}],"usage":%s}'
)
TEXT = (
    b'{"id":"cmpl-1","object":"text_completion","created":1760000000,"model":"%s","choices":[%s],'
    b'"usage":%s}'
)
TEXT_CHOICE = b'{"index":%d,"text":"%s","logprobs":null,"finish_reason":"stop"}'
USAGE = b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}'
EVENT = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,'
    b'"model":"%s","choices":%s,"usage":%s}\n\n'
)
DELTA = b'[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}]'


def pieces_of(prompt: str, tokens: int) -> list[str]:
    """Return the tokens of the answer to a prompt."""
    first = ["ok", f" {zlib.crc32(prompt.encode()):08x}"]
    return (first + [f" {FILLER[number % len(FILLER)]}" for number in range(tokens - 2)])[:tokens]


def answer_of(prompt: str, tokens: int) -> str:
    """Return the whole text of the answer to a prompt; what a validator has to expect."""
    return "".join(pieces_of(prompt, tokens))


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return the text that a request asks: the last message, or the prompts of a completion."""
    if "messages" in body:
        content = body["messages"][-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(part.get("text", "") for part in content)
    prompt = body["prompt"]
    return prompt if isinstance(prompt, str) else "\n".join(map(str, prompt))


def json_answer(status: int, body: bytes, headers: bytes = b"") -> bytes:
    """Return a whole response with a JSON body."""
    return JSON_HEAD % (status, REASONS[status], headers, len(body)) + body


def whole(prompt: str, tokens: int) -> bytes:
    """Return the response to a chat completion that is not streamed."""
    text = answer_of(prompt, tokens).encode()
    return json_answer(200, CHAT % (MODEL.encode(), text, _usage(prompt, tokens)))


def called(prompt: str) -> bytes:
    """Return the response of a model that runs a command in a shell: the one it is told, or none.

    The prompt says `Run: ` and a command without quotes.
    """
    command = prompt.partition("Run: ")[2] or "true"
    return json_answer(200, CALL % (MODEL.encode(), command.encode(), _usage("", 1)))


def judged(prompt: str) -> bytes:
    """Return the response of a judge, whatever it is asked."""
    text = json.dumps(JUDGEMENT)[1:-1].encode()
    return json_answer(200, CHAT % (MODEL.encode(), text, _usage(prompt, 100)))


def completion(prompts: list[str], tokens: int) -> bytes:
    """Return the response to a text completion of one or more prompts."""
    choices = [
        TEXT_CHOICE % (number, answer_of(prompt, tokens).encode())
        for number, prompt in enumerate(prompts)
    ]
    usage = _usage("".join(prompts), tokens * len(prompts))
    return json_answer(200, TEXT % (MODEL.encode(), b",".join(choices), usage))


class Streamed:
    """Streamed answers of a fixed number of tokens; what does not depend on the prompt is ready."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        role = _event(DELTA % (b'{"role":"assistant","content":""}', b"null"))
        self._opening = STREAM_HEAD + role
        self._filler = [_token(piece) for piece in pieces_of("", tokens)]
        self._finish = _event(DELTA % (b"{}", b'"stop"'))

    def parts(self, prompt: str, *, with_usage: bool) -> list[bytes]:
        """Return what is written at each token; the last part ends the stream."""
        parts = list(self._filler)
        if self._tokens > 1:
            parts[1] = _token(pieces_of(prompt, 2)[1])
        parts[0] = self._opening + parts[0]
        usage = _event(b"[]", _usage(prompt, self._tokens)) if with_usage else b""
        parts[-1] += self._finish + usage + _chunk(b"data: [DONE]\n\n") + LAST_CHUNK
        return parts


def _usage(prompt: str, tokens: int) -> bytes:
    asked = len(prompt) // 4 + 1
    return USAGE % (asked, tokens, asked + tokens)


def _token(piece: str) -> bytes:
    return _event(DELTA % (b'{"content":"%s"}' % piece.encode(), b"null"))


def _event(choices: bytes, usage: bytes = b"null") -> bytes:
    return _chunk(EVENT % (MODEL.encode(), choices, usage))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class FaultPlan:
    """Which first attempts fail, and how: a function of the seed and the prompt alone."""

    def __init__(self, shares: Mapping[str, float], seed: int) -> None:
        unknown = sorted(shares.keys() - set(FAULTS))
        if unknown or sum(shares.values()) > 1:
            message = f"faults are shares, at most 1 together, of {', '.join(FAULTS)}"
            raise ValueError(message)
        self._shares = dict(shares)
        self._seed = seed

    @classmethod
    def parse(cls, text: str, seed: int) -> FaultPlan:
        """Read `429=0.03,reset=0.02`; an empty text means no faults."""
        pairs = [part.partition("=") for part in text.split(",") if part]
        return cls({name: float(share) for name, _, share in pairs}, seed)

    def fault(self, prompt: str, attempt: int) -> str | None:
        """Return how this attempt fails; every retry is well, so that faults are transient."""
        if attempt > 1 or not self._shares:
            return None
        key = f"{self._seed}|{attempt}|{prompt}".encode()
        point = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) / 2**64
        for name, share in self._shares.items():
            if point < share:
                return name
            point -= share
        return None

"""What an endpoint may do to the Claude Code CLI, and what the trial must say of it."""

from dataclasses import dataclass, field

from tests.support.messages_wire import (
    block,
    end,
    event,
    refusal,
    refuses,
    start,
    stream_of,
    streams,
)

PART = event("content_block_start", index=0, content_block={"type": "text", "text": ""}) + event(
    "content_block_delta", index=0, delta={"type": "text_delta", "text": "Par"}
)
NO_STOP = end().partition(b"event: message_stop")[0]
OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}
LIMIT_REACHED = (
    "anthropic-ratelimit-unified-status: rejected",
    "anthropic-ratelimit-unified-reset: 4000000000",
    "anthropic-ratelimit-unified-representative-claim: five_hour",
)
FOREVER_S = 60


def cut(*parts):
    """Return an answer that breaks off after these bytes."""

    def answer(wire, request):
        wire.open_stream()
        wire.send(b"".join(parts))
        wire.close()

    return answer


def stuck(*parts):
    """Return an answer that begins with these bytes and never goes on."""

    def answer(wire, request):
        if parts:
            wire.open_stream()
            wire.send(b"".join(parts))
        wire.sleep(FOREVER_S)

    return answer


@dataclass(frozen=True)
class Row:
    """One fault: how the endpoint behaves, how the CLI is called, what must come of it."""

    answer: object
    failure_type: str | None
    status: str
    says: str = ""
    text: str = ""
    requests: int = 1
    timeout_s: float = 30.0
    accepted: bool = True
    wrapper: str = ""
    """Shell lines between us and the real command, for what we would never do ourselves."""
    flags: str = ""
    api_key: str | None = "sk-test-0123456789abcdef"
    model: dict = field(default_factory=dict)
    reply: dict = field(default_factory=dict)
    """More fields that the reply must have."""


def error(status, failure_type, availability, message="no", kind="api_error", **fields):
    return Row(
        refuses(status, kind, message),
        failure_type,
        availability,
        reply={"http_status": status} | fields.pop("reply", {}),
        **fields,
    )


TOKEN = {"api_key_env": "CLAUDE_CODE_OAUTH_TOKEN"}

ROWS = {
    "ok": Row(streams(stream_of("Hi ", "there")), None, "ok", text="Hi there"),
    "bad request": error(400, "http_400", "error", "cannot generate", says="generate"),
    "no credit": error(
        400, "http_429", "rate_limited", "Your credit balance is too low.", says="Credit balance"
    ),
    "wrong key": error(401, "http_401", "auth_error", "invalid x-api-key", "authentication_error"),
    "expired token": error(
        401, "http_401", "auth_error", "OAuth token has expired", says="expired", model=TOKEN
    ),
    "not allowed": error(403, "http_403", "auth_error", "no permission", "permission_error"),
    "no such model": error(404, "http_404", "skipped_unavailable", "model: x", "not_found_error"),
    "too many": error(
        429, "http_429", "rate_limited", "slow down, generate less", "rate_limit_error"
    ),
    "subscription used up": Row(
        refuses(429, "rate_limit_error", "no more", LIMIT_REACHED),
        "http_429",
        "rate_limited",
        says="session limit",
        model=TOKEN,
        reply={"http_status": 429},
    ),
    "broken server": error(500, "http_500", "error", "internal", says="internal"),
    "overloaded": error(529, "http_529", "error", "Overloaded", "overloaded_error"),
    "a page instead": Row(
        lambda wire, request: wire.answer(b"<html>hello</html>", content_type="text/html"),
        "invalid_response",
        "error",
    ),
    "garbage": Row(
        streams(b"event: message_start\ndata: {nonsense\n\n"), "invalid_response", "error"
    ),
    "whole, not streamed": Row(
        lambda wire, request: wire.answer(refusal("overloaded_error", "Overloaded")),
        "invalid_response",
        "error",
    ),
    "error in the stream": Row(
        streams(start() + PART + event("error", error=OVERLOADED)),
        "stream_interrupted",
        "error",
        text="Par",
    ),
    "cut in the text": Row(cut(start(), PART), "stream_interrupted", "error", text="Par"),
    "cut after the text": Row(
        cut(start(), block(0, "text", "All")), "stream_interrupted", "error", text="All"
    ),
    "cut before its end marker": Row(
        cut(start(), block(0, "text", "All"), NO_STOP), "stream_interrupted", "error", text="All"
    ),
    "reset": Row(lambda wire, request: wire.reset(), "stream_interrupted", "error", says="reset"),
    "nobody listens": Row(
        None,
        "connection_error",
        "skipped_unavailable",
        says="Connect call failed",
        requests=0,
        accepted=False,
    ),
    "never answers": Row(stuck(), "timeout", "error", says="within 0.7 s", timeout_s=0.7),
    "stops in the text": Row(
        stuck(start(), PART), "timeout", "error", says="within 2 s", text="Par", timeout_s=2
    ),
    "its own time-out": Row(
        stuck(), "timeout", "error", says="timed out", wrapper="export API_TIMEOUT_MS=500"
    ),
    "not logged in": Row(
        None,
        "api_key_missing",
        "auth_error",
        says="Not logged in",
        requests=0,
        wrapper="unset ANTHROPIC_API_KEY",
        accepted=False,
    ),
    "unknown flag": Row(
        None,
        "cli_error",
        "error",
        says="unknown option '--nonsense'",
        requests=0,
        accepted=False,
        flags="--nonsense",
    ),
    "cut at max_tokens": Row(
        streams(stream_of("cut of", stop_reason="max_tokens")),
        "output_truncated",
        "ok",
        text="cut of",
        reply={"finish_reason": "max_tokens"},
    ),
    "end of the context": Row(
        streams(stream_of("x", stop_reason="model_context_window_exceeded")),
        "output_truncated",
        "ok",
        text="x",
    ),
    "no content": Row(streams(start() + end()), "empty_response", "ok"),
    "empty text": Row(streams(stream_of("", " \n")), "empty_response", "ok", text=" \n"),
    "thinking only": Row(
        streams(start() + block(0, "thinking", "hm ", "ok") + end()),
        "empty_response",
        "ok",
        reply={"reasoning": "hm ok", "ttft_ms": None},
    ),
    "thinking, then text": Row(
        streams(start() + block(0, "thinking", "hm") + block(1, "text", "Answer") + end()),
        None,
        "ok",
        text="Answer",
        reply={"reasoning": "hm"},
    ),
    "text in two blocks": Row(
        streams(start() + block(0, "text", "One. ") + block(1, "text", "Two.") + end()),
        None,
        "ok",
        text="One. Two.",
    ),
    "a tool that is not there": Row(
        streams(start() + block(0, "tool_use", '{"command":', '"ls"}') + end("tool_use")),
        "max_turns_exceeded",
        "ok",
    ),
    "refusal": Row(
        streams(stream_of("I cannot.", stop_reason="refusal")),
        None,
        "ok",
        text="I cannot.",
        reply={"finish_reason": "refusal"},
    ),
}
"""By name; each is played to the real command."""

"""Settings that a server silently ignored, as far as its answer shows.

Only settings whose effect an answer would show are reported. A temperature, a top_p or a seed
leaves no trace in one answer, so they are never reported. The sentences hold nothing that differs
from answer to answer, since each is reported once a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from collect.providers.base import Reply
from schemas.redact import redact

NO_STREAM = "the server ignores `stream`: time to first token is unknown"
NO_USAGE = "the server does not say how many tokens it took: token counts are unknown"
NO_PROMPT = "the server counts no prompt tokens at all: input tokens are not to be trusted"
TOO_LONG = "the server wrote more tokens than `{}` allows: it may ignore it"
CUT = (
    "the server counts fewer tokens than the prompt has words: it cut the prompt to the length of "
    "its context (Ollama: `num_ctx`), or leaves cached tokens out"
)
OTHER_MODEL = "asked for `{}`, answered by `{}`: the server may ignore `model`"
NO_THINKING = "an answer with thinking level `{}` shows no sign of reasoning"
THINKS = "thinking level `none` was asked for, and an answer came with reasoning"

MAX_NAME_CHARS = 200
"""Characters of a model's name that are said."""

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")

MIN_PROMPT_CHARS = 2_000
"""Characters; a shorter prompt is cut by no server."""

MAX_CHARS_PER_TOKEN = 6
"""Ordinary text has 2 to 5; only above are words counted."""

ALWAYS_THINKS = frozenset({"medium", "high", "xhigh", "max"})
"""Levels at which even a server that counts 0 reasoning tokens is worth a word."""

LATEST = frozenset({"latest", "gguf"})
VARIANTS = frozenset({"free", "nitro", "floor", "exacto", "online", "extended"})
"""How OpenRouter is to choose; the model is the same."""

INSTANCE = re.compile(r":\d{1,2}$")
"""What LM Studio adds to the name of a model that is loaded once more."""

DATE = re.compile(r"(?<=[-_.@:])(?:\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{8}|\d{6}|\d{4}|0\d\d)$")
"""What a name ends in when it names a dated version."""


def ignored(body: Mapping[str, JsonValue], reply: Reply) -> list[str]:
    """Return a sentence for each setting of a request that its answer shows was not applied.

    The body is one of any API that takes JSON, the reply a good answer to it.
    """
    notes = []
    if body.get("stream") is True and reply.ttft_ms is None:
        notes.append(NO_STREAM)
    usage = reply.usage
    if usage.source is None:
        options = body.get("stream_options", True)
        if options is True or (isinstance(options, dict) and options.get("include_usage")):
            notes.append(NO_USAGE)
    elif usage.input_tokens is not None and (note := _prompt_note(body, usage.input_tokens)):
        notes.append(note)
    if usage.output_tokens is not None:
        visible = usage.output_tokens - (usage.reasoning_tokens or 0)
        notes += [
            TOO_LONG.format(name)
            for name in LIMITS
            if type(limit := body.get(name)) is int and visible > limit + limit // 10 + 4
        ]
    asked, served = body.get("model"), reply.served_model
    if served != asked and isinstance(asked, str) and served and not body.get("models"):
        notes += (
            [OTHER_MODEL.format(asked, redact(served)[:MAX_NAME_CHARS])]
            if is_other_model(asked, served)
            else []
        )
    if (level := _level(body)) is not None and (note := _thinking_note(level, reply)):
        notes.append(note)
    return notes


@lru_cache(maxsize=256)
def is_other_model(asked: str, served: str) -> bool:
    """Return whether two names cannot mean the same model.

    Tolerated are case, a vendor's prefix or a path, another order or punctuation of the parts,
    `latest` or a date on one side only, and the variants of OpenRouter, whose names that begin
    with `openrouter/` leave the choice to it.
    """
    if asked.startswith(("openrouter/", "@preset/")):
        return False
    (one, one_date), (other, other_date) = _parts(asked), _parts(served)
    dates = {one_date, other_date} - {""}
    return one != other or len(dates) > 1


def _parts(name: str) -> tuple[list[str], str]:
    """Return the parts of a model's name in a fixed order, and the date it ends in."""
    name = re.split(r"[/\\]", name.lower())[-1].removesuffix(".gguf")
    words = INSTANCE.sub("", name).split(":")
    name = ":".join([words[0], *(word for word in words[1:] if word not in VARIANTS | LATEST)])
    date = DATE.search(name)
    rest = name[: date.start()] if date else name
    parts = sorted(part for part in re.split(r"[-_.:@ ]+", rest) if part and part not in LATEST)
    return parts, date[0].replace("-", "") if date else ""


def _prompt_note(body: Mapping[str, JsonValue], tokens: int) -> str | None:
    """Return what a count of prompt tokens says that cannot be one of the whole prompt.

    A word takes a token or more with nearly every tokenizer; those that join words take two for
    three. Words are counted only where the characters leave a doubt.
    """
    if tokens == 0:
        return NO_PROMPT
    texts = _texts(body)
    n_chars = sum(map(len, texts))
    if n_chars < MIN_PROMPT_CHARS or n_chars < MAX_CHARS_PER_TOKEN * tokens:
        return None
    n_words = sum(len(text.split()) for text in texts)
    return CUT if n_words * 2 > tokens * 3 else None


def _texts(body: Mapping[str, JsonValue]) -> list[str]:
    """Return the texts of a request's messages."""
    messages = body.get("messages") or body.get("input")
    texts: list[str] = []
    for message in messages if isinstance(messages, list) else ():
        content: Any = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, list):
            texts += [
                part["text"]
                for part in content
                if isinstance(part, dict) and isinstance(part.get("text"), str)
            ]
    return texts


def _level(body: Mapping[str, JsonValue]) -> JsonValue:
    """Return the thinking level that was asked for."""
    if (level := body.get("reasoning_effort")) is not None:
        return level
    reasoning = body.get("reasoning")
    return reasoning.get("effort") if isinstance(reasoning, dict) else None


def _thinking_note(level: JsonValue, reply: Reply) -> str | None:
    """Return what an answer shows of a thinking level.

    Models may answer easy questions at once: nothing is said at `minimal`, and at `low` only where
    the server does not even count reasoning tokens.
    """
    counted = reply.usage.reasoning_tokens
    if level == "none":
        return THINKS if counted or reply.reasoning.strip() else None
    if counted or reply.reasoning.strip() or "</think>" in reply.text:
        return None
    doubtful = level in ALWAYS_THINKS or (level == "low" and counted is None)
    return NO_THINKING.format(level) if doubtful else None

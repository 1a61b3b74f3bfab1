"""What a provider is: one request in, one reply out.

What the model, the server or the network does wrong is a reply with a failure_type; a provider
raises only for mistakes of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pydantic import JsonValue

from collect.config.resolved import WireMessage
from schemas.config.prices import Price
from schemas.failures import FailureClass, classify

NOT_READ = "not_read"
"""The code of an answer that was there in time, and that a command did not read to its end."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    """JSON Schema of its arguments."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model."""

    messages: tuple[WireMessage, ...]
    timeout_s: float
    stream: bool
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    tools: tuple[ToolSchema, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or the name of a tool that must be called."""
    withholds_tools: bool = False
    """The model has had its turns: only a text is wanted, whatever the wire needs for that."""
    answer_schema: Mapping[str, JsonValue] | None = None
    """JSON Schema that the answer is to be held to, where the API can; the prompt has it too."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request ready to be sent, as often as need be."""

    request: Request
    body: dict[str, JsonValue]
    """What is sent, for the record."""
    raw: bytes
    """The same as JSON text."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of this request alone, beside those of every one."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model asked for through the API."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one reply; what the server did not say is null."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    """Part of the input tokens, read from a cache."""
    cache_write_tokens: int | None = None
    """Part of the input tokens, written to a cache; some vendors charge more for these."""
    raw: JsonValue = None
    source: str | None = None
    """Who counted: `api`, `native`, `model_usage`, `usage` or `agent`; None when nobody did."""

    def cost_nano_usd(self, price: Price | None) -> int | None:
        """Return what the tokens cost by a price, in nano-dollars; None when it cannot be told."""
        raws = self.raw if isinstance(self.raw, list) else [self.raw]
        is_byok = any(isinstance(raw, dict) and raw.get("is_byok") is True for raw in raws)
        if price is None or is_byok:
            return None  # with a key of one's own upstream nobody knows what a router leaves out
        return price.cost_nano_usd(
            input=self.input_tokens,
            output=self.output_tokens,
            cached=self.cached_input_tokens,
            cache_write=self.cache_write_tokens,
            reasoning=self.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request, or of a trial of whatever runner: an answer, or why there is none.

    `e2e_ms` runs from the first request byte written to the last response byte, `ttft_ms` to the
    first content token; both are null when that moment never came. Of several turns the first is
    summed over all of them, the second is the first one's.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    served_model: str | None = None
    served_provider: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    http_status: int | None = None
    e2e_ms: int | None = None
    ttft_ms: int | None = None
    failure_type: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    accepted: bool = True
    """The server had taken the whole request: decides whose a time-out is."""
    notes: tuple[str, ...] = ()
    """Things the run should know, such as a setting the server refused."""

    @property
    def failure(self) -> FailureClass | None:
        """Return what the failure_type means, or None for a usable answer."""
        if self.failure_type is None:
            return None
        return classify(self.failure_type, accepted=self.accepted)


@dataclass(frozen=True, slots=True)
class Reply(Outcome):
    """What came back from a provider."""

    reasoning: str = ""
    echo: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the server wants back of this answer as it came, where the conversation goes on."""
    requests: int = 1
    """How often the request was written: twice after a connection that was closed in between."""
    retry_after_s: float | None = None

    def failed(self, failure_type: str, **facts: object) -> Reply:
        """Return this reply as a failure."""
        return replace(self, failure_type=failure_type, **facts)  # type: ignore[arg-type]


class Provider(Protocol):
    """One model behind one transport."""

    def prepare(self, request: Request) -> Prepared:
        """Return a request ready to be sent; nothing is sent yet."""

    async def ask(self, prepared: Prepared) -> Reply:
        """Send one request and return what came of it; never raises for the other side."""

    async def aclose(self) -> None:
        """Let go of connections."""

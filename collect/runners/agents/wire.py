"""The requests of one trial's agent, as they pass to the model: timed, counted, with the key added.

What the run sets (sampling, limits of an answer, options of the request) stands in place of what
the agent would send: a run's settings hold whatever the agent knows of them.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from collect.http_client import Exchange
from collect.http_client.door import Answer, Door, HandedOn, Knock
from collect.limits import Slot
from collect.providers.base import Prepared, Reply, Request
from collect.providers.http import OverHttp
from collect.providers.http_reply import read_answer
from schemas.formats.agent_logs.log import json_object
from schemas.run.trace import now_ms

FIRST_EVENT = re.compile(rb"^data: ?(\{.*)$", re.MULTILINE)

MAX_AT_ONCE = 16
"""Requests of one agent at once; more wait: each costs, and its answer takes memory here."""

MAX_CONNECTIONS = 128
"""Of one agent at once; files and memory of the collector are those of all trials."""

MAX_LONG_PROMPTS = 4
"""Of one agent at once, of more than a megabyte each."""

CUT_OFF = "cut_off"
"""Code of a request that was under way when the agent was ended."""


@dataclass(frozen=True, slots=True)
class WireCall:
    """One request of the agent to the model, and what came of it."""

    reply: Reply
    began_ms: int
    """When the agent asked, in ms since the epoch."""
    ended_ms: int
    response_id: str | None = None
    """What the server calls its answer."""


class AgentWire:
    """The way of one trial's agent to its model.

    Args:
        provider: of the model, which has the key.
        request: the settings of the trial.
        slot: of the trial, which keeps to the model's pace and learns from its answers.
        is_paced: the model takes only so many requests in a minute.
    """

    def __init__(self, provider: OverHttp, request: Request, slot: Slot, *, is_paced: bool) -> None:
        self.password = secrets.token_urlsafe(24)
        self.calls: list[WireCall] = []
        self.door = Door(self._answer, MAX_CONNECTIONS, MAX_LONG_PROMPTS)
        self._provider, self._request = provider, request
        self._slot = slot
        self._room = asyncio.Semaphore(MAX_AT_ONCE)
        self._turn = asyncio.Lock() if is_paced else None
        self._is_begun = False

    @property
    def n_requests(self) -> int:
        """How often the model was asked."""
        return sum(call.reply.requests for call in self.calls)

    async def _answer(self, knock: Knock, answer: Answer) -> None:
        path = urlsplit(knock.path).path
        if not hmac.compare_digest(knock.password.encode(), self.password.encode()):
            answer.refuse(401, "not the password of this trial")
        elif knock.method != "POST" or path != self._provider.tool_path:
            answer.refuse(404, f"nothing is asked here but POST {self._provider.tool_path}")
        else:
            body = json_object(knock.body)
            if body is None:
                answer.refuse(400, "not a JSON object")
            else:
                async with self._room:
                    prepared = self._provider.relayed(body, self._request, knock.headers)
                    await self._relay(prepared, answer)

    async def _relay(self, prepared: Prepared, answer: Answer) -> None:
        is_first, self._is_begun = not self._is_begun, True
        if self._turn is not None and not is_first:  # the trial has kept to the pace before that
            async with self._turn:
                await self._slot.keep_pace()
        end = self._provider.end if prepared.body["stream"] else None
        exchange = HandedOn(answer, end)
        began_ms = now_ms()
        try:
            reply = await self._provider.relay(prepared, exchange)
        except asyncio.CancelledError:
            self._note(self._cut_off(exchange), exchange, began_ms)
            raise
        except Exception as exc:  # noqa: BLE001 - a mistake of ours: told by the trial
            what = f"{type(exc).__name__}: {exc}"
            reply = Reply().failed("exception", error_code="door", error_message=what)
        self._note(reply, exchange, began_ms)
        self._slot.learn(reply)
        if exchange.complete:
            answer.end()
        elif not answer.is_begun:
            answer.refuse(502, reply.error_message or "the server broke off")

    def _cut_off(self, exchange: Exchange) -> Reply:
        """Return what had come of an answer for which the agent no longer waited."""
        message = "the agent was ended, or gave up, before the answer was complete"
        failure = Reply(
            failure_type="stream_interrupted", error_code=CUT_OFF, error_message=message
        )
        return read_answer(exchange, failure, self._provider.read_stream, self._provider.read_whole)

    def _note(self, reply: Reply, exchange: Exchange, began_ms: int) -> None:
        self.calls.append(WireCall(reply, began_ms, now_ms(), _id_of(exchange.body())))


def _id_of(body: bytes) -> str | None:
    """Return the id of an answer: of its first event, or of the whole."""
    event = FIRST_EVENT.search(body)
    found = json_object(body if event is None else event[1])
    if found is None:
        return None
    inner = found.get("response")
    name = (inner if isinstance(inner, dict) else found).get("id")
    return name if isinstance(name, str) else None

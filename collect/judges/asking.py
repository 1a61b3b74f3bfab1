"""One judge asked about one trial once: retries of the wire, and repairs of what does not fit.

An answer that does not fit is shown to the judge with what is wrong, at most `MAX_REPAIRS` times,
whatever it scores: no answer is asked for again because of its verdict. What fails is the judge's
failure and never the subject's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from collect.config.evaluation import ResolvedJudge
from collect.config.resolved import WireMessage
from collect.judges.answer import InvalidAnswer
from collect.limits import Slot, Stopped, with_retries
from collect.plan.estimate import most_of_request
from collect.providers.base import Provider, Reply, Request
from schemas.config.prices import NANO
from schemas.run.judgement import JudgeFailure

MAX_REPAIRS = 2

REFUSED = frozenset({"refusal", "content_filter"})

CUT_OFF = frozenset({"length", "max_tokens", "model_context_window_exceeded"})

REPAIR = (
    "Your answer does not fit: {}.\nAnswer again with one JSON object of the schema, and nothing "
    "else. Your scores are yours: only the form is wrong."
)


Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


class Form(Protocol[Answer_co]):
    """What an answer has to look like."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema, as strict structured outputs take it."""

    def parsed(self, text: str) -> Answer_co:
        """Return what an answer says.

        Raises:
            InvalidAnswer: it does not fit.
        """


class Purse(Protocol):
    """What may be spent on judges, in nano-dollars."""

    async def reserve_up_to(self, most: int | None, slot: Slot) -> int | None:
        """Return what is reserved, None: it does not fit any more; may wait without the slot."""

    def charge(self, reserved: int, cost: int) -> None:
        """Replace a reservation by what the work did cost."""

    def release(self, reserved: int) -> None:
        """Give back what was reserved for an answer that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a judge and what came back."""

    messages: tuple[WireMessage, ...]
    reply: Reply
    requests: int
    problem: str | None
    """Why the answer did not do."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[Answer]):
    """What came of it."""

    exchanges: tuple[Exchange, ...]
    answer: Answer | None
    failure: JudgeFailure | None
    """Of the last exchange; None where there is an answer."""


@dataclass(frozen=True, slots=True)
class Asker:
    """What asks one judge."""

    judge: ResolvedJudge
    provider: Provider
    purse: Purse
    """Pays for it."""


async def ask(
    asker: Asker, request: Request, form: Form[Answer], slot: Slot
) -> Asked[Answer] | None:
    """Ask a judge until its answer fits, or asking is of no use.

    Args:
        asker: of the judge.
        request: with the prompt.
        form: of the answer.
        slot: of this question.

    Returns:
        What came of it; None: there is no money for the first request.

    Raises:
        Stopped: nobody is to be asked any more, and nobody was.
    """
    exchanges: list[Exchange] = []
    answer: Answer | None = None
    failure: JudgeFailure | None = None
    while True:
        try:
            paid = await _asked_once(asker, request, slot)
        except Stopped:
            if not exchanges:
                raise
            paid = None  # the answers that did not fit were paid for, and are written down
        if paid is None:
            return Asked(tuple(exchanges), None, failure) if exchanges else None
        reply, requests = paid
        answer, failure, problem = _read(reply, form)
        exchanges.append(Exchange(request.messages, reply, requests, problem))
        is_over = failure not in {"invalid", "no_response"} or len(exchanges) > MAX_REPAIRS
        if is_over:
            return Asked(tuple(exchanges), answer, failure)
        if failure == "invalid":
            said: tuple[WireMessage, ...] = (
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": REPAIR.format(problem)},
            )
            request = replace(request, messages=(*request.messages, *said))


async def _asked_once(asker: Asker, request: Request, slot: Slot) -> tuple[Reply, int] | None:
    """Return the reply to one request, paid for, and the requests made; None: no money."""
    judge, purse = asker.judge, asker.purse
    n_chars = sum(len(message["content"]) for message in request.messages)
    reserved = await purse.reserve_up_to(
        most_of_request(judge.model, n_chars, judge.max_tokens), slot
    )
    if reserved is None:
        return None
    prepared = asker.provider.prepare(request)
    try:
        reply, requests = await with_retries(
            partial(asker.provider.ask, prepared), slot, judge.retries, lambda *_: None
        )
    except BaseException:
        purse.release(reserved)
        raise
    cost = cost_of(reply, judge)
    purse.charge(reserved, reserved if cost is None else cost)
    return reply, requests


def cost_of(reply: Reply, judge: ResolvedJudge) -> int | None:
    """Return what an answer did cost, in nano-dollars: as the server says, else by its price.

    None when it cannot be told, which a failure without any usage does not.
    """
    if reply.cost_usd is not None:
        return round(reply.cost_usd * NANO)
    return reply.usage.cost_nano_usd(judge.model.price)


def _read(
    reply: Reply, form: Form[Answer]
) -> tuple[Answer | None, JudgeFailure | None, str | None]:
    """Return the answer, or why there is none, and a sentence of it."""
    if reply.finish_reason in REFUSED:
        return None, "refusal", f"the judge refused: {reply.finish_reason}"
    if reply.failure_type == "empty_response":
        return None, "no_response", reply.error_message or "the answer is empty"
    if reply.failure_type is not None and not reply.text:
        return None, "judge_down", reply.error_message or reply.failure_type
    try:
        return form.parsed(reply.text), None, None
    except InvalidAnswer as exc:
        if reply.finish_reason in CUT_OFF:
            return None, "truncated", f"the answer was cut off: {exc}"
        if reply.failure_type is not None:
            return None, "judge_down", reply.error_message or reply.failure_type
        return None, "invalid", str(exc)

"""The judges of a profile, ready to be asked: each with connections and a limiter of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Self

from collect.config.endpoints import PROVIDERS, key_of
from collect.config.evaluation import ResolvedJudge
from collect.config.resolved import WireMessage
from collect.judges.asking import Answer, Asked, Asker, Form, Purse, ask
from collect.limits import Gate, Limiter, Share, Stopped
from collect.providers import provider_of
from collect.providers.base import Request
from schemas.errors import ConfigError, Problem

TEMPERATURE = 0.0
"""Of a judge whose request options name none."""

MAX_DOWN = 3
"""Answers in a row that never came, after which a judge is not asked any more."""

Say = Callable[[str], None]


@dataclass(slots=True)
class _Seat:
    """One judge at work."""

    asker: Asker
    limiter: Limiter
    n_down: int = 0
    """Questions in a row that it could not be reached for."""


def refuse_keyless(judges: Iterable[ResolvedJudge]) -> None:
    """Look at the key of every judge before anything is asked.

    Raises:
        ConfigError: naming each variable that is not set, or holds no key.
    """
    problems = []
    for judge in judges:
        model = judge.model
        try:
            if model.embedded is None and model.key_required and not key_of(model):
                what = f"environment variable {model.api_key_env} of the judge is not set"
                problems.append(Problem(None, what, f"judges: {judge.judge_id}"))
        except ConfigError as exc:
            problems += exc.problems
    if problems:
        raise ConfigError(problems)


@dataclass
class Panel:
    """Asks judges; open while it is entered.

    Attributes:
        judges: as they can be asked now.
        system_prompt: of every one of them.
        purse: what may be spent.
        say: told what people should know.
        share: the part of their limits that this process has.
    """

    judges: Sequence[ResolvedJudge]
    system_prompt: str
    purse: Purse
    say: Say
    share: Share = field(default_factory=Share)
    given_up: dict[str, str] = field(default_factory=dict)
    """judge_id to why it is not asked any more."""
    stop_reason: str | None = None
    """Why nobody is asked any more."""
    _seats: dict[str, _Seat] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        """Open nothing on the wire yet.

        Raises:
            ConfigError: an address cannot be used, or a key is none.
        """
        for judge in self.judges:
            model = judge.model
            provider = provider_of(model, key_of(model) or None, None)
            self._stack.push_async_callback(provider.aclose)
            limiter = Limiter(
                Gate(model.max_concurrency),
                model.max_concurrency,
                share=self.share,
                on_shrink=self._shrunk(judge.judge_id),
            )
            self._seats[judge.judge_id] = _Seat(Asker(judge, provider, self.purse), limiter)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def stop(self, reason: str) -> None:
        """Ask nobody any more; who is being asked may answer."""
        self.stop_reason = self.stop_reason or reason
        for seat in self._seats.values():
            seat.limiter.close()

    async def ask(self, judge_id: str, prompt: str, form: Form[Answer]) -> Asked[Answer] | None:
        """Ask one judge once; None: it was not asked.

        Args:
            judge_id: of the profile.
            prompt: about a trial, or two.
            form: of the answer.
        """
        seat = self._seats[judge_id]
        slot = await seat.limiter.enter()
        try:
            if self.stop_reason is not None or judge_id in self.given_up:
                return None
            request = self._request(seat.asker.judge, prompt, form)
            asked = await ask(seat.asker, request, form, slot)
        except Stopped:
            return None
        finally:
            slot.leave()
        if asked is None:
            self.stop("max_cost: the next answer of a judge could take it above --max-cost")
            return None
        self._learn(seat, asked)
        return asked

    def _request(self, judge: ResolvedJudge, prompt: str, form: Form[Answer]) -> Request:
        limits = PROVIDERS[judge.model.provider].limits
        is_limited = any(name in judge.model.request_options for name in limits)
        messages: tuple[WireMessage, ...] = (
            {"role": "system", "content": self.system_prompt},
            {"role": "user", "content": prompt},
        )
        return Request(
            messages=messages,
            timeout_s=judge.timeout_s,
            stream=False,
            temperature=TEMPERATURE,
            max_tokens=None if is_limited else judge.max_tokens,
            answer_schema=form.schema,
        )

    def _learn(self, seat: _Seat, asked: Asked[Answer]) -> None:
        """Give up a judge that cannot be reached."""
        if asked.failure != "judge_down":
            seat.n_down = 0
            return
        seat.n_down += 1
        if seat.n_down == MAX_DOWN:
            judge_id = seat.asker.judge.judge_id
            why = f"{MAX_DOWN} questions in a row had no answer: {asked.exchanges[-1].problem}"
            self.given_up[judge_id] = why
            self.say(f"judge `{judge_id}` is not asked any more: {why}")

    def _shrunk(self, judge_id: str) -> Callable[[int], None]:
        return lambda limit: self.say(
            f"judge `{judge_id}`: too many 429: goes on with {limit} at once"
        )

"""Makes every shard of a plan: starts them, divides the limits, and goes on with those lost.

What all shards may use together is divided anew whenever one comes or goes. One that joins is given
its part once the others say that they keep to theirs; one that is lost is waited for as long as it
may still use its part.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from collect.console.interrupts import Interrupts
from collect.console.judging_report import JudgeCounts, JudgingReport
from collect.console.progress import RunReport
from collect.dispatch.executors import Executor, ShardProcess, StartError
from collect.dispatch.funds import Funds
from collect.dispatch.messages import (
    Begin,
    Division,
    Ended,
    Grant,
    Note,
    Progress,
    Refused,
    Stop,
)
from collect.dispatch.record import DispatchRecord
from collect.execute.mirror_process import brought_in
from collect.limits import NOTHING, part_of
from schemas.run.dispatch import DispatchLine, ShardAttempt, ShardEnd, ShardGrant, ShardLoss
from schemas.run.trace import now_ms

MAX_FRUITLESS = 5
"""Attempts in a row at one shard that finish no trial, after which it is given up."""

RETRY_S = 0.5
"""Before the second of them; each further wait is three times as long. It may take a cluster a
while to notice that a node is gone."""

N_STOPS = 2
"""After which whoever interrupts waits for nobody: processes are killed."""

MAX_MIRRORS = 2
"""Finished shards that are brought into the lake at once."""

Spent = Callable[[Path], int]
"""What a run's folder says that it has cost, in nano-dollars."""


@dataclass(eq=False)
class Shard:
    """One run folder, and the process that makes it."""

    number: int
    run_dir: Path
    attempt: int = 0
    process: ShardProcess | None = None
    progress: Progress | None = None
    """None: it is not ready yet."""
    division: Division = field(default_factory=lambda: Division(0, *NOTHING))
    report: RunReport | None = None
    """Once it has ended by itself."""
    refused: Refused | None = None
    is_given_up: bool = False
    present: int = 0
    passed: int = 0
    begun_with: int = 0
    """Trials that were there when the attempt began."""
    before: Counter[str] = field(default_factory=Counter)
    """Tokens (under the empty name) and failures of earlier attempts of this session."""

    @property
    def is_ready(self) -> bool:
        """Return whether it may be given a part of the limits."""
        return self.process is not None and self.progress is not None

    @property
    def keeps(self) -> bool:
        """Return whether it keeps to the newest division, or is gone."""
        return self.progress is None or self.progress.number >= self.division.number

    @property
    def counts(self) -> Counter[str]:
        """Return tokens (under the empty name) and failures of this session."""
        if self.process is None or self.progress is None:
            return self.before
        return self.before + Counter({"": self.progress.tokens} | self.progress.failures)

    def hear(self, progress: Progress) -> None:
        """Take in how far it is."""
        if self.progress is None:
            self.begun_with = progress.present
        self.progress = progress
        self.present, self.passed = progress.present, progress.passed


@dataclass
class Coordinator:
    """Makes all shards of one plan.

    Attributes:
        record: of the plan, which says everything before it takes effect.
        shards: those that are not whole yet.
        executor: where their processes run.
        begin: how each is gone on with.
        funds: what they may spend.
        at_once: trials that all of them may have in flight.
        spent: says what a folder has cost.
        note: says what people should know.
        shown: is called when they should see how far it is.
        stops_together: as `fail_fast` has it.
    """

    record: DispatchRecord
    shards: Sequence[Shard]
    executor: Executor
    begin: Begin
    funds: Funds
    at_once: int
    spent: Spent
    note: Callable[[str], None]
    shown: Callable[[Sequence[Shard]], None]
    stops_together: bool = False
    """Where one shard stops early, so do the others."""
    n_lost: int = 0
    """Processes that were gone before their shard was made."""
    untold: list[str] = field(default_factory=list)
    """What went wrong while finished shards were brought into the lake."""
    _members: list[Shard] = field(default_factory=list)
    _n_divisions: int = 0
    _said: dict[str, Shard] = field(default_factory=dict)
    _heard: asyncio.Event = field(default_factory=asyncio.Event)
    _n_stops: int = 0
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _ending: list[asyncio.Task[str]] = field(default_factory=list)
    _mirrors: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_MIRRORS))

    async def run(self, interrupts: Interrupts) -> None:
        """Make every shard, until all are whole, stopped, or given up.

        Raises:
            CollectError: the record cannot be written; what is under way is stopped.
        """
        interrupts.watch(self._interrupt, self._interrupt)
        try:
            async with asyncio.TaskGroup() as group:
                dividing = group.create_task(self._divide())
                makes = [group.create_task(self._make(shard)) for shard in self.shards]
                if makes:
                    await asyncio.wait(makes)
                dividing.cancel()
        except* Exception as failed:  # noqa: BLE001 - unwrapped, not swallowed
            raise failed.exceptions[0] from None
        finally:
            await self.executor.close()

    def _interrupt(self) -> None:
        if not self._n_stops:
            self.note("stopping: trials in flight may finish; press Ctrl-C again to end now")
        self._stop_all()

    def _stop_all(self) -> None:
        self._n_stops += 1
        self._stopped.set()
        for shard in self.shards:
            self._send_stops(shard, 1)
            if self._n_stops > N_STOPS and shard.process is not None:
                self._ending.append(asyncio.create_task(shard.process.end()))

    def _send_stops(self, shard: Shard, n_stops: int) -> None:
        if shard.process is not None:
            for _ in range(n_stops):
                shard.process.send(Stop())

    async def _make(self, shard: Shard) -> None:
        """Make one shard, in as many attempts as it takes."""
        fruitless = 0
        while not self._n_stops and shard.report is None and not shard.is_given_up:
            shard.begun_with = shard.present
            why = await self._attempt(shard)
            if why is None:
                break
            fruitless = 0 if shard.present > shard.begun_with else fruitless + 1
            self.n_lost += 1
            self._leave(shard)
            if fruitless == MAX_FRUITLESS:
                shard.is_given_up = True
                self.note(f"{shard.run_dir.name} is given up after {fruitless} attempts: {why}")
            elif not self._n_stops:
                self.note(f"{shard.run_dir.name} was lost: {why}; it goes on where its log ends")
                await self._pause(fruitless)
        await self._bring_in(shard)

    async def _pause(self, fruitless: int) -> None:
        """Wait before an attempt after one that came to nothing, unless the run is stopped."""
        if fruitless:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S * 3 ** (fruitless - 1)):
                    await self._stopped.wait()

    async def _attempt(self, shard: Shard) -> str | None:
        """Start a process and listen to it; return how it was lost, or None."""
        shard.attempt += 1
        begin = replace(self.begin, attempt=shard.attempt)
        self._write(
            ShardAttempt(
                shard=shard.number, attempt=shard.attempt, place=self.executor.name, at_ms=now_ms()
            )
        )
        shard.progress = None
        try:
            process = await self._started(shard, begin)
        except StartError as exc:
            return str(exc)
        if process is None:
            return None
        shard.process = process
        self._send_stops(shard, self._n_stops)
        try:
            return await self._listen(shard, process)
        finally:
            shard.before, shard.process = shard.counts, None
            await process.end()

    async def _started(self, shard: Shard, begin: Begin) -> ShardProcess | None:
        """Return a new process; None when the run is stopped before there is room for one."""
        starting = asyncio.ensure_future(self.executor.start(shard.run_dir, begin))
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
            return await starting if starting.done() else None
        finally:
            starting.cancel()
            stopped.cancel()

    async def _listen(self, shard: Shard, process: ShardProcess) -> str | None:
        while (message := await process.receive()) is not None:
            if isinstance(message, Progress):
                shard.hear(message)
                self._fund(shard)
                self._heard.set()
                self.shown(self.shards)
            elif isinstance(message, Note):
                self._pass_on(shard, message.text)
            elif isinstance(message, Ended):
                shard.report = report_of(message.report | {"run_dir": str(shard.run_dir)})
                if self.stops_together and shard.report.present < shard.report.planned:
                    self._stop_all()
            elif isinstance(message, Refused):
                shard.refused = message
        how = await process.end()
        logged = self.spent(shard.run_dir) if self.funds.is_limited else 0
        if shard.report is not None or shard.refused is not None:
            known = 0 if shard.progress is None else shard.progress.need.spent
            self.funds.settle(shard.number, max(logged, known))  # what cost nobody knows what
            self._write(ShardEnd(shard=shard.number, attempt=shard.attempt, at_ms=now_ms()))
            self._leave(shard)
            if shard.refused is not None:
                shard.is_given_up = True
                if not self._n_stops:
                    self.note(f"{shard.run_dir.name}: {shard.refused.text}")
            return None
        await asyncio.sleep(self.executor.lease_s)
        unaccounted = self.funds.lose(shard.number, logged) if self.funds.is_limited else 0
        self._write(
            ShardLoss(
                shard=shard.number,
                attempt=shard.attempt,
                why=how,
                unaccounted_nano_usd=unaccounted,
                at_ms=now_ms(),
            )
        )
        return how

    def _pass_on(self, shard: Shard, text: str) -> None:
        """Say what a shard said, unless another one has said the same."""
        if self._said.setdefault(text, shard) is shard:
            self.note(f"{shard.run_dir.name}: {text}")

    def _leave(self, shard: Shard) -> None:
        """Let the others have its part."""
        shard.division = Division(0, *NOTHING)
        if shard in self._members:
            self._members.remove(shard)
            self._send_divisions(self._members, self._members)
        self._heard.set()
        for other in self._members:
            self._fund(other)

    async def _divide(self) -> None:
        """Give every shard that is ready its part, once the others keep to theirs."""
        while True:
            await self._heard.wait()
            self._heard.clear()
            together = [shard for shard in self.shards if shard.is_ready or shard in self._members]
            joining = [shard for shard in together if shard not in self._members]
            if not joining:
                continue
            self._send_divisions(self._members, together)
            if all(shard.keeps for shard in self._members):
                self._members = together
                self._send_divisions(joining, together)
                for shard in joining:
                    self._fund(shard)

    def _send_divisions(self, to: Iterable[Shard], together: Sequence[Shard]) -> None:
        """Tell shards their part among all that are made together, where it is another one."""
        self._n_divisions += 1
        for shard in to:
            part = together.index(shard), len(together)
            if part != (shard.division.rank, shard.division.n_shares):
                shard.division = Division(self._n_divisions, *part)
                if shard.process is not None:
                    shard.process.send(shard.division)

    def _fund(self, shard: Shard) -> None:
        """Grant a shard what it needs next; where nobody can go on, say so to all."""
        if not self.funds.is_limited or shard.progress is None or shard.process is None:
            return
        need, n_shares = shard.progress.need, shard.division.n_shares
        if not n_shares:
            return
        at_once = part_of(self.at_once, shard.division.rank, n_shares)
        granted = self.funds.grant(shard.number, need, at_once, n_shares)
        if granted is not None:
            self._write(ShardGrant(shard=shard.number, nano_usd=granted, at_ms=now_ms()))
            shard.process.send(Grant(granted))
        elif all(map(self._is_starved, self._members)):
            for member in self._members:
                if member.process is not None:
                    member.process.send(Grant(0, is_last=True))

    def _is_starved(self, shard: Shard) -> bool:
        last = shard.progress
        return last is not None and self.funds.is_starved(shard.number, last.need)

    async def _bring_in(self, shard: Shard) -> None:
        """Bring a shard that has ended into the lake, and sum it up."""
        async with self._mirrors:
            notes = await brought_in(shard.run_dir)
        if shard.report is not None:
            shard.report.is_summed_up = not notes
        self.untold += notes
        for note in notes:
            self.note(note)

    def _write(self, line: DispatchLine) -> None:
        self.record.append(line)


def report_of(fields: dict[str, Any]) -> RunReport:
    """Return what a shard came to, as its process told it."""
    report = RunReport(**fields)
    if (judging := fields.get("judging")) is not None:
        judges = {name: JudgeCounts(**counts) for name, counts in judging["judges"].items()}
        report.judging = JudgingReport(**judging | {"judges": judges})
    return report

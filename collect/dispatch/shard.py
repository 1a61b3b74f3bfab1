"""Entry of the process that makes one shard: it goes on with a run folder as `--resume` does.

`python -m collect.dispatch.shard RUN_DIR`. Whoever started it says on its standard input what it
may use, and hears on its standard output how it goes. When standard input ends, so does the shard,
as by Ctrl-C: nobody would know what it spends.
"""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import select
import signal
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

from collect.console.interrupts import Interrupts
from collect.console.progress import RunReport, Tally
from collect.dispatch.messages import (
    NO_NEED,
    Begin,
    Division,
    Ended,
    Grant,
    Lines,
    Message,
    Note,
    Progress,
    Refused,
    Stop,
    line_of,
    message_of,
)
from collect.execute.budget import Budget, BudgetNeed
from collect.execute.collector import Collector
from collect.execute.spec import Part, RunRequest, RunSpec
from collect.execute.stored_run import stored_spec
from collect.limits import NOTHING, Share
from collect.run_folder.log import RunLog
from schemas.errors import BenchError
from schemas.run.result import Event, Result
from schemas.run.trace import now_ms

LOOK_S = 0.05
"""Between two looks whether what is under way fits a smaller share, or money is short."""

N_LOOKS = 5
"""Between two words on how far it is."""

READ_BYTES = 1 << 16


class Link:
    """The other end: the coordinator. What it hears acts on the run at once."""

    def __init__(self, reading: int, writing: int) -> None:
        self.share = Share(*NOTHING)
        self._reading, self._writing = reading, writing
        self._lines = Lines()
        self._waiting: list[Message] = []
        self._division = 0
        self._kept = 0
        self._interrupts: Interrupts | None = None
        self._budget: Budget | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._present = self._passed = self._tokens = 0
        self._failures: Counter[str] = Counter()

    def first(self) -> Begin:
        """Wait for how the run is gone on with.

        Raises:
            ValueError: it is something else, or nothing.
        """
        while not self._waiting:
            if not (piece := os.read(self._reading, READ_BYTES)):
                message = "standard input ended before anything was said"
                raise ValueError(message)
            self._waiting += map(message_of, self._lines.add(piece))
        begin = self._waiting.pop(0)
        if not isinstance(begin, Begin):
            message = f"standard input begins with {begin}"
            raise ValueError(message)
        return begin

    def attach(self, interrupts: Interrupts, budget: Budget) -> None:
        """Listen, and tell how it goes, from now on."""
        self._interrupts, self._budget = interrupts, budget
        loop = asyncio.get_running_loop()
        for message in self._waiting:
            self._act_on(message)
        loop.add_reader(self._reading, self._read)
        self._ticking = loop.create_task(self._tell())
        self._ticking.add_done_callback(self._on_ticking_end)

    def begin(self, report: RunReport) -> None:
        """Take in what is finished already."""
        self._present, self._passed = report.present, report.passed

    def result(self, result: Result) -> None:
        """Count one trial."""
        self._present += 1
        self._passed += result.passed is True
        self._tokens += result.output_tokens or 0
        if result.failure_type is not None:
            self._failures[result.failure_type] += 1

    def together(self, tally: Tally) -> None:
        """Nothing: it is one shard."""

    def note(self, text: str) -> None:
        """Tell what people should know."""
        self.send(Note(text))

    def end(self) -> None:
        """Tell how far it came, and nothing more on how it goes."""
        if self._ticking is not None:
            self._ticking.cancel()
            self._say_progress()

    def send(self, message: Message) -> None:
        """Send a message; nobody may be there to read it."""
        try:
            os.write(self._writing, line_of(message))
        except OSError:
            self._is_alone()

    def _read(self) -> None:
        piece = os.read(self._reading, READ_BYTES)
        if not piece:
            asyncio.get_running_loop().remove_reader(self._reading)
            self._is_alone()
        for line in self._lines.add(piece):
            self._act_on(message_of(line))

    def _is_alone(self) -> None:
        """Stop, since whoever divides the limits is gone."""
        if self._interrupts is not None and not self._interrupts.count:
            self._interrupts.interrupt()

    def _act_on(self, message: Message) -> None:
        if isinstance(message, Division):
            self._division = message.number
            self.share.change(message.rank, message.n_shares)
            self._keep()
        elif isinstance(message, Grant) and self._budget is not None:
            self._budget.grant(message.nano, is_last=message.is_last)
        elif isinstance(message, Stop) and self._interrupts is not None:
            self._interrupts.interrupt()

    def _keep(self) -> None:
        """Say that a division is kept to, once it is."""
        if self._kept != self._division and self.share.is_within:
            self._kept = self._division
            self._say_progress()

    async def _tell(self) -> None:
        required = 0
        while True:
            self._say_progress()
            for _ in range(N_LOOKS):
                await asyncio.sleep(LOOK_S)
                self._keep()
                before, required = required, self._need().required
                if required > before:
                    break

    def _say_progress(self) -> None:
        """Say how far it is, unless nobody reads: the run waits for no screen."""
        if select.select([], [self._writing], [], 0)[1]:
            counts = self._present, self._passed, self._tokens
            self.send(Progress(*counts, dict(self._failures), self._kept, self._need()))

    def _on_ticking_end(self, ticking: asyncio.Task[None]) -> None:
        """Stop where nothing can be said any more: the coordinator would wait for ever."""
        if not ticking.cancelled() and ticking.exception() is not None:
            self._is_alone()

    def _need(self) -> BudgetNeed:
        return NO_NEED if self._budget is None else self._budget.need


def make(run_dir: Path, link: Link, planned: RunSpec | None) -> None:
    """Go on with a run folder, by the words of a coordinator, and tell how it ends.

    Args:
        run_dir: the folder.
        link: to the coordinator.
        planned: what was planned a moment ago; None: the folder says what.

    Raises:
        BenchError: it cannot be gone on with here.
    """
    begin = link.first()
    request = RunRequest(
        runs_dir=run_dir.parent,
        resume=run_dir.name,
        allowed_hosts=tuple(begin.allowed_hosts),
        unsafe_no_sandbox=begin.unsafe_no_sandbox,
        assume_price=begin.assume_price,
        max_cost_usd=begin.max_cost_usd,
        as_json=True,
    )
    log = RunLog.reopen(run_dir)
    try:
        if planned is None:
            spec = stored_spec(log, request, link.note)
        else:
            spec = replace(
                planned,
                request=request,
                max_cost_usd=begin.max_cost_usd,
                warnings=(),  # were said by who planned it
                inputs=None,
            )
        detail = {"attempt": begin.attempt, "host": platform.node(), "pid": os.getpid()}
        at_ms = now_ms()
        log.append(Event(run_id=run_dir.name, event="shard_attempt", at_ms=at_ms, detail=detail))
    except BaseException:
        log.close()
        raise
    report = Collector(spec, link, log, part=Part(link.share, link.attach)).run()
    link.send(Ended(asdict(report)))


def main(run_dir: Path, planned: RunSpec | None = None) -> int:
    """Make the shard of a run folder, which may have been planned here; return the exit code."""
    gc.disable()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    reading, writing = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # what anybody prints goes where errors go
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    link = Link(reading, writing)
    try:
        make(run_dir, link, planned)
    except BenchError as exc:
        link.send(Refused(str(exc), exc.exit_code))
        return exc.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

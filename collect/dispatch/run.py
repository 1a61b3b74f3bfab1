"""A run in several shards on the screen: what `collect run --processes` and `--executor` do."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from collect.console.interrupts import Interrupts
from collect.console.progress import RunReport, Screen, Tally
from collect.console.screen import open_screen
from collect.dispatch.coordinator import Coordinator, Shard
from collect.dispatch.funds import Funds
from collect.dispatch.messages import Begin
from collect.dispatch.record import attempts_in, open_grants, unaccounted_in
from collect.dispatch.start import Dispatch, dispatch_of, gone_on_with, started
from collect.execute.collector import on_loop
from collect.execute.mirror_process import add_page, add_push
from collect.execute.spec import RunRequest
from collect.judges.earlier import Earlier
from collect.run_folder.finished import FinishedTrials
from schemas.config.prices import NANO
from schemas.errors import (
    EXIT_BAD_NEWS,
    EXIT_INTERRUPTED,
    EXIT_OK,
    Interrupted,
    counted,
    display_path,
    printable,
    runs_flag,
)
from schemas.run.config import load_run_config
from schemas.run.dispatch import ShardLoss
from schemas.run.layout import LOG
from schemas.run.trace import now_ms


@dataclass
class DispatchReport(RunReport):
    """What `collect run --json` prints of a run in several shards: its sums, and each shard."""

    run_group: str | None = None
    n_lost: int = 0
    """Processes that were gone before their shard was made."""
    shards: list[RunReport] = field(default_factory=list)


def dispatch(request: RunRequest) -> int:
    """Make the run that is asked for in several shards, or complete it; return the exit code.

    Raises:
        ConfigError: something that it needs is not there, or its limits cannot be divided.
        RunExists: the run id is taken.
        NotResumable: there is nothing to go on with.
        RunBusy: another coordinator works on it.
        Interrupted: Ctrl-C before the first request.
    """
    screen = open_screen()
    resumed = dispatch_of(request)
    try:
        if resumed is None:
            opened = started(request, screen)
        else:
            opened = gone_on_with(request, resumed, screen)
    except KeyboardInterrupt as exc:
        raise Interrupted from exc
    try:
        return _Run(opened, request, screen).make()
    finally:
        opened.record.close()


class _Run:
    """One session of a run in several shards."""

    def __init__(self, opened: Dispatch, request: RunRequest, screen: Screen) -> None:
        self._record, self._executor = opened.record, opened.executor
        self._config = opened.config
        self._request = request
        self._screen = screen
        plan = self._record.plan
        self._shards = [
            Shard(number, request.runs_dir / name) for number, name in enumerate(plan.shards, 1)
        ]
        attempts = attempts_in(self._record.lines)
        for shard in self._shards:
            shard.attempt = attempts.get(shard.number, 0)
        self._before = {shard: stored_report(shard.run_dir) for shard in self._shards}
        for shard, report in self._before.items():
            shard.present, shard.passed = report.present - report.n_open, report.passed
        done = sum(shard.present for shard in self._shards)
        self._tally = Tally(plan.n_planned, done, sum(shard.passed for shard in self._shards))

    def make(self) -> int:
        """Make all shards that are not whole, and say what came of all."""
        request, plan = self._request, self._record.plan
        began = time.perf_counter()
        report = DispatchReport(plan.dispatch_id, str(self._record.path), plan.n_planned)
        report.run_group = plan.run_group
        name = request.runs_dir / plan.dispatch_id
        together = f"{name} in {counted(len(self._shards), 'shard')}"
        before = self._tally
        self._screen.begin(
            RunReport(plan.dispatch_id, together, before.planned, before.done, passed=before.passed)
        )
        cap = request.max_cost_usd if request.max_cost_usd is not None else plan.max_cost_usd
        open_shards = [s for s in self._shards if self._is_open(self._before[s])]
        coordinator = Coordinator(
            record=self._record,
            shards=open_shards,
            executor=self._executor,
            begin=Begin(
                allowed_hosts=request.allowed_hosts,
                unsafe_no_sandbox=request.unsafe_no_sandbox,
                assume_price=request.assume_price,
                max_cost_usd=cap,
            ),
            funds=self._funds(cap),
            at_once=self._config.execution_policy.max_concurrency,
            spent=spent_in,
            note=self._screen.note,
            shown=self._show,
            stops_together=self._config.execution_policy.fail_fast,
        )

        async def whole(interrupts: Interrupts) -> int:
            await coordinator.run(interrupts)
            return interrupts.count

        try:
            n_interrupts = on_loop(whole)
        finally:
            self._screen.end()
        self._sum_up(report, coordinator)
        report.wall_ms = round((time.perf_counter() - began) * 1000)
        report.exit_code = self._exit_code(report, coordinator, n_interrupts)
        self._finish(report)
        return report.exit_code

    def _is_open(self, before: RunReport) -> bool:
        """Return whether there is anything left of a shard; judges say so themselves."""
        is_judged = self._config.judge_hash is not None
        return before.present < before.planned or before.n_open > 0 or is_judged

    def _funds(self, cap: float | None) -> Funds:
        """Return the money that is left; what a process was granted that nobody saw end is gone."""
        if cap is None:
            return Funds(None, {})
        spent = {shard.number: spent_in(shard.run_dir) for shard in self._shards}
        unaccounted, attempts = unaccounted_in(self._record.lines), attempts_in(self._record.lines)
        for number, granted in open_grants(self._record.lines).items():
            lost = max(granted - spent[number], 0)
            unaccounted += lost
            self._record.append(
                ShardLoss(
                    shard=number,
                    attempt=attempts[number],
                    why="the coordinator was gone first",
                    unaccounted_nano_usd=lost,
                    at_ms=now_ms(),
                )
            )
        return Funds(round(cap * NANO), spent, unaccounted)

    def _show(self, shards: Sequence[Shard]) -> None:
        tally, counts = self._tally, sum((shard.counts for shard in shards), Counter[str]())
        tally.done = sum(shard.present for shard in self._shards)
        tally.passed = sum(shard.passed for shard in self._shards)
        tally.tokens = counts.pop("", 0)
        tally.failures = counts
        self._screen.together(tally)

    def _sum_up(self, report: DispatchReport, coordinator: Coordinator) -> None:
        """Add the shards up; of one that did not end by itself, what its log says."""
        report.present = 0
        report.n_lost = coordinator.n_lost
        for shard in self._shards:
            own = shard.report or stored_report(shard.run_dir)
            report.shards.append(own)
            report.present += own.present
            report.ok += own.ok
            report.success += own.success
            report.passed += own.passed
            report.n_open += own.n_open
            report.is_summed_up &= own.is_summed_up
            report.by_status = dict(Counter(report.by_status) + Counter(own.by_status))
            if own.cost_usd is not None:
                n_known = report.n_cost_known + own.n_cost_known
                report.add_cost(own.cost_usd)
                report.n_cost_known = n_known

    def _exit_code(
        self, report: DispatchReport, coordinator: Coordinator, n_interrupts: int
    ) -> int:
        incomplete = report.present < report.planned
        if n_interrupts and incomplete:
            return EXIT_INTERRUPTED
        refused = [shard.refused for shard in coordinator.shards if shard.refused is not None]
        if refused and len(refused) == len(coordinator.shards):
            return max(one.exit_code for one in refused)
        is_bad = any(one.exit_code != EXIT_OK for one in report.shards)
        return EXIT_BAD_NEWS if incomplete or is_bad or coordinator.untold else EXIT_OK

    def _finish(self, report: DispatchReport) -> None:
        """Print what came of it; push and draw it where that was asked for."""
        request = self._request
        if not request.as_json:
            sys.stdout.write("".join(f"{line}\n" for line in self._lines(report)))
            sys.stdout.flush()
        if request.lake is not None:
            for own in report.shards:
                add_push(own, request.lake)
                report.exit_code = report.exit_code or own.exit_code
            if all(own.pushed_to for own in report.shards):
                report.pushed_to = request.lake
        if request.with_page:
            add_page(report.shards[0])
            report.report_path = report.shards[0].report_path
        if request.as_json:
            sys.stdout.write(orjson.dumps(asdict(report)).decode() + "\n")
        elif report.report_path is not None:
            sys.stdout.write(f"{report.report_path}\n")

    def _lines(self, report: DispatchReport) -> list[str]:
        """Return what came of it, where it is, and the next command."""
        trials = counted(report.planned, "trial")
        lines = [
            f"{report.present:,} of {trials} in {counted(len(self._shards), 'shard')}, "
            f"{report.passed:,} passed"
        ]
        others = {name: n for name, n in report.by_status.items() if name != "success"}
        if others:
            lines.append(", ".join(f"{printable(name)} {n:,}" for name, n in others.items()))
        if report.cost_usd is not None:
            lines.append(f"cost ${report.cost_usd:.6g}")
        if report.n_lost:
            lost = counted(report.n_lost, "process was lost", "processes were lost")
            lines.append(f"{lost}; the shard of each went on where its log ended")
        for own in report.shards:
            lines += [] if own.judging is None else own.judging.lines(Path(own.run_dir))
        lines += [display_path(shard.run_dir) for shard in self._shards]
        again = ("collect", "run", "--resume", report.run_id, *runs_flag(self._request.runs_dir))
        first = display_path(self._shards[0].run_dir)
        is_whole = report.present == report.planned and not report.n_open
        following = ("analyze", "report", first) if is_whole else again
        return [*lines, f"next: {shlex.join(following)}"]


def stored_report(run_dir: Path) -> RunReport:
    """Return what the log of a shard says that it came to so far."""
    n_planned = load_run_config(run_dir / "config.json").n_planned
    report = RunReport(run_dir.name, str(run_dir), n_planned)
    if (log := run_dir / LOG).is_file():
        finished = FinishedTrials(log)
        outside = finished.count_into(report, final=True) + finished.count_into(report, final=False)
        is_whole = report.present == report.planned
        report.exit_code = EXIT_OK if is_whole and not outside else EXIT_BAD_NEWS
    else:
        report.exit_code = EXIT_BAD_NEWS
    return report


def spent_in(run_dir: Path) -> int:
    """Return what a run has cost by its own records, judges included, in nano-dollars."""
    config = load_run_config(run_dir / "config.json")
    log = run_dir / LOG
    usd = FinishedTrials(log).spent_usd if log.is_file() else 0.0
    if config.evaluation is not None and config.judge_hash is not None:
        usd += Earlier(run_dir, config.evaluation.evaluation_profile_id).spent_usd
    return round(usd * NANO)

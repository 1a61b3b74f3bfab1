"""`collect evaluate`: what judges say of stored trials, on the screen."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import orjson

from collect.commands.progress import Progress, say
from collect.execute.mirror_process import bring_in
from collect.judges.judging import JudgeCounts
from collect.run_folder.log import RunLog, evaluate_command
from collect.stored.evaluate import EvaluateReport, EvaluateRequest, StoredJudging, to_evaluate
from schemas.errors import EXIT_INTERRUPTED, Interrupted, counted, printable


def evaluate(request: EvaluateRequest) -> int:
    """Judge what is asked for, show what came of it, and return the exit code.

    Raises:
        RunNotFound: there is no such run.
        NotResumable: its folder does not say what it was made of.
        ConfigError: what trials are judged by is wrong, or cannot be here.
        RunBusy: a collector works on the run.
        LocalModelError: an embedded judge cannot be served.
        Interrupted: Ctrl-C.
    """
    inputs = to_evaluate(request, Path.cwd())
    run_dir = inputs.found.run_dir
    log = RunLog.reopen(run_dir)
    try:
        report = StoredJudging(log, inputs, request, Progress("trials"), say).run()
    finally:
        log.close()
    for note in bring_in(run_dir):
        say(note)
    if request.as_json:
        sys.stdout.write(orjson.dumps(asdict(report)).decode() + "\n")
    else:
        sys.stdout.write("\n".join(map(printable, text_of(report))) + "\n")
    if report.exit_code == EXIT_INTERRUPTED:
        raise Interrupted(again(report), when="")
    return report.exit_code


def again(report: EvaluateReport) -> str:
    """Return the command that asks for what is left."""
    return evaluate_command(Path(report.run_dir), report.evaluation_profile_id)


def text_of(report: EvaluateReport) -> list[str]:
    """Return what came of it, for people."""
    judging = report.judging
    parts = [
        f"{judging.n_judged:,} judged",
        f"{judging.n_unchanged:,} as before",
        *([f"{judging.n_skipped:,} left nothing to judge"] if judging.n_skipped else ()),
        *([f"{judging.n_open:,} not judged yet"] if judging.n_open else ()),
        *([f"{judging.n_failed:,} without a usable answer"] if judging.n_failed else ()),
    ]
    lines = [
        f"run {report.run_id}, evaluation profile {report.evaluation_profile_id}: "
        f"{counted(judging.n_trials, 'trial')}: {', '.join(parts)}"
    ]
    if report.pass_threshold is not None:
        verdicts = ", ".join(f"{n:,} {name}" for name, n in judging.verdicts.items())
        lines.append(f"verdicts of the judges: {verdicts}")
    lines += [judge_line(name, counts) for name, counts in judging.judges.items()]
    if any(counts.asked for counts in judging.judges.values()):
        lines.append(cost_line(judging.cost_usd, judging.n_without_cost))
    if report.stopped is not None:
        lines.append(f"stopped: {report.stopped}")
    if judging.n_open or judging.n_failed:
        lines.append(f"`{again(report)}` asks for what is missing")
    return [*(f"note: {note}" for note in report.notes), *lines]


def judge_line(name: str, counts: JudgeCounts) -> str:
    """Return what came of the questions to one judge."""
    failures = "".join(f", {n:,} {what}" for what, n in sorted(counts.failures.items()))
    asked = counted(counts.asked, "question")
    return f"judge {name}: {asked}, {counts.succeeded:,} answered{failures}"


def cost_line(cost_usd: float, n_unknown: int) -> str:
    """Return what answers did cost, for people."""
    unknown = f", and {counted(n_unknown, 'answer')} of unknown cost" if n_unknown else ""
    return f"judges cost ${cost_usd:,.4f}{unknown}"

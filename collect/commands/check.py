"""`collect check`: what the checks of stored trials find as they stand now, on the screen."""

from __future__ import annotations

import signal
import sys
from dataclasses import asdict
from pathlib import Path

import orjson

from collect.commands.progress import Progress, say
from collect.execute.mirror_process import bring_in
from collect.run_folder.log import RunLog, check_command
from collect.stored.inputs import CheckRequest, load
from collect.stored.recheck import VERDICTS, CheckReport, StoredChecks
from schemas.errors import Interrupted, counted, printable

MAX_NAMED = 20
"""Changed verdicts that are named; of more, only how many there are. With --json all are."""

HOOKS_OFF = "hooks_disabled"


def check(request: CheckRequest) -> int:
    """Make the checks that are asked for, show what came of it, and return the exit code.

    Raises:
        RunNotFound: there is no such run.
        NotResumable: its folder does not say what it was made of.
        ConfigError: what the checks are made by is wrong, or cannot be here.
        RunBusy: a collector works on the run.
        Interrupted: Ctrl-C.
    """
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        run_dir, report = _checked(request)
    except KeyboardInterrupt as exc:
        raise Interrupted(check_command(request.runs_dir / request.run), when="") from exc
    for note in bring_in(run_dir):
        say(note)
    if request.as_json:
        content = asdict(report) | {"changed": [one._asdict() for one in report.changed]}
        sys.stdout.write(orjson.dumps(content).decode() + "\n")
    else:
        sys.stdout.write("\n".join(map(printable, text_of(report))) + "\n")
    return report.exit_code


def _checked(request: CheckRequest) -> tuple[Path, CheckReport]:
    """Return the folder of the run and what came of it; what was written stays in any case."""
    run_dir, inputs = load(request, Path.cwd())
    log = RunLog.reopen(run_dir)
    try:
        return run_dir, StoredChecks(log, inputs, request, Progress("trials")).run()
    finally:
        log.close()


def text_of(report: CheckReport) -> list[str]:
    """Return what came of it, for people."""
    skipped = f", {report.n_skipped:,} without an answer to look at" if report.n_skipped else ""
    lines = [
        f"run {report.run_id}: {counted(report.n_trials, 'trial')}, {report.n_evaluated:,} looked "
        f"at again, {report.n_unchanged:,} as before{skipped}",
        f"verdicts: {_verdicts(report.verdicts)} (before: {_verdicts(report.before)})",
    ]
    for one in report.changed[:MAX_NAMED]:
        before, now = VERDICTS[one.before], VERDICTS[one.now]
        lines.append(f"  {one.model_id} {one.case_id} {one.repetition}: {before} -> {now}")
    if (more := len(report.changed) - MAX_NAMED) > 0:
        lines.append(f"  and {more:,} more; --json has all")
    for what, n_trials in report.errors.items():
        lines.append(f"check {what}: could not look at {counted(n_trials, 'trial')}")
    if any(what.endswith(f": {HOOKS_OFF}") for what in report.errors):
        again = check_command(Path(report.run_dir))
        lines.append(f"`{again} --evaluation-profile E` lets hooks run, where E allows them")
    return [*(f"note: {note}" for note in report.notes), *lines]


def _verdicts(counts: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in counts.items())

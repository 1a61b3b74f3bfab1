"""`collect evaluate`: what judges say of stored trials, on the screen."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import orjson

from collect.commands.progress import Progress, say
from collect.execute.mirror_process import bring_in
from collect.run_folder.log import RunLog
from collect.stored.evaluate import EvaluateReport, StoredJudging, to_evaluate
from collect.stored.inputs import EvaluateRequest
from schemas.errors import EXIT_INTERRUPTED, Interrupted, printable


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
        raise Interrupted(report.judging.again(run_dir), when="")
    return report.exit_code


def text_of(report: EvaluateReport) -> list[str]:
    """Return what came of it, for people."""
    first, *lines = report.judging.lines(Path(report.run_dir))
    notes = (f"note: {note}" for note in report.notes)
    return [*notes, f"run {report.run_id}, {first}", *lines]

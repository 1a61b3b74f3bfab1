"""From a request to a finished run on the screen: what `run` and `demo` share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import orjson
import typer

from collect.config import RunInputs
from collect.console.progress import RunReport, Screen
from collect.console.screen import open_screen
from collect.execute.collector import Collector
from collect.execute.spec import RunRequest, RunSpec, inputs_of, new_spec
from collect.run_folder.log import RunLog, resume_command
from schemas.errors import ConfigError, Problem
from schemas.run.dispatch import SUFFIX
from schemas.run.model_names import ModelNames

WITH_RESUME = frozenset(
    [
        *("--runs", "--resume", "--max-cost", "--assume-price", "--allow-host"),
        *("--unsafe-no-sandbox", "--report", "--lake", "--json", "--executor", "--address"),
    ]
)
"""Flags that change nothing of a run as it was planned."""


def check_flags(context: typer.Context) -> None:
    """Refuse flags that say nothing together: an error, never ignored.

    A run goes on as it was planned, so flags that would change it do not go with `--resume`.

    Raises:
        ConfigError: names the flags.
    """
    flags = {one.opts[0]: context.params.get(one.name or "") for one in context.command.params}
    if flags["--resume"] is None:
        for flag in ("--suite", "--run-profile"):
            if flags[flag] is None:
                what = f"a new run needs {flag}; --resume RUN_ID|latest goes on with one"
                raise ConfigError([Problem(None, what)])
    elif given := [flag for flag, value in flags.items() if value and flag not in WITH_RESUME]:
        what = "cannot be given with --resume: the run goes on as it was planned"
        raise ConfigError([Problem(None, f"{', '.join(given)} {what}")])
    if flags["--processes"] and (
        given := [name for name in ("--executor", "--shards") if flags[name]]
    ):
        what = f"--processes N is --executor processes --shards N; leave {', '.join(given)} out"
        raise ConfigError([Problem(None, what)])
    if flags["--shards"] and not flags["--executor"]:
        what = "--shards is for --executor; --shard i/n makes one part of a plan"
        raise ConfigError([Problem(None, what)])
    if flags["--address"] and flags["--executor"] != "ray" and not flags["--resume"]:
        raise ConfigError([Problem(None, "--address is for --executor ray")])


def run(request: RunRequest) -> int:
    """Make the run that is asked for, or complete it, show it, and return the exit code.

    Raises:
        ConfigError: something that it needs is not there, or cannot be.
        RunExists: the run id is taken.
        RunInLake: its folder is gone, and its rows are in the lake.
        NotResumable: there is nothing to go on with, or a model would be another one.
        RunBusy: another collector works on it.
    """
    if request.lake is not None:
        from schemas.io.shared_url import location_of, require_library  # noqa: PLC0415 - few have one

        location_of(request.lake)
        require_library()
    if request.executor is not None or is_dispatched(request):
        from collect.dispatch.run import dispatch  # noqa: PLC0415 - few runs have shards

        return dispatch(request)
    if request.resume is None:
        return start(inputs_of(request, Path.cwd()), request)
    from collect.execute.stored_run import folder_of, stored_spec  # noqa: PLC0415 - others are new

    log, screen = RunLog.reopen(folder_of(request)), open_screen()
    try:
        spec = stored_spec(log, request, screen.note)
    except BaseException:
        log.close()
        raise
    return _collected(spec, screen, log)


def is_dispatched(request: RunRequest) -> bool:
    """Return whether a run that goes on was made in several shards; looks for no more than that."""
    if request.resume is None or next(request.runs_dir.glob(f"*{SUFFIX}"), None) is None:
        return False
    from collect.dispatch.start import dispatch_of  # noqa: PLC0415 - few folders have one

    return dispatch_of(request) is not None


def start(inputs: RunInputs, request: RunRequest) -> int:
    """Make one run of inputs, show it, and return the exit code; raises as `run` does."""
    screen = open_screen()
    return _collected(new_spec(inputs, request, screen.note), screen)


def _collected(spec: RunSpec, screen: Screen, log: RunLog | None = None) -> int:
    """Make a run and print what came of it; the path of its report comes last."""
    closing = _Closing(spec)
    report = Collector(spec, screen, log, meanwhile=closing.prepare).run()
    request = spec.request
    if not request.as_json:
        closing.show(report)
    if request.lake is not None:
        from collect.execute.mirror_process import add_push  # noqa: PLC0415 - few ask for it

        sys.stdout.flush()
        add_push(report, request.lake)
    if request.with_page:
        from collect.execute.mirror_process import add_page  # noqa: PLC0415 - few ask for it

        sys.stdout.flush()
        add_page(report)
    if request.as_json:
        sys.stdout.write(orjson.dumps(asdict(report)).decode() + "\n")
    elif report.report_path is not None:
        sys.stdout.write(f"{report.report_path}\n")
    return report.exit_code


class _Closing:
    """What is said when a run is over, made ready while the mirror seals its last file."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._detectable: Sequence[str] = ()
        self._is_first = True

    def prepare(self) -> None:
        spec = self._spec
        if spec.request.as_json:
            return
        from collect.console import run_summary  # noqa: PLC0415 - not before the first request

        runs_dir, names = spec.request.runs_dir, ModelNames.of_models(spec.models)
        self._detectable = run_summary.detectable_lines(
            spec.sizes, runs_dir, spec.suite_id, spec.thresholds, names
        )
        self._is_first = run_summary.is_first(runs_dir, spec.suite_id)

    def show(self, report: RunReport) -> None:
        from collect.console import run_summary  # noqa: PLC0415 - as above

        request = self._spec.request
        run_summary.show(
            report,
            request.again or resume_command(Path(report.run_dir)),
            self._detectable,
            self._spec.thresholds,
            is_first=self._is_first,
            with_page=request.with_page,
        )

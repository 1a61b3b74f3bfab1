"""From loaded inputs to a finished run on the screen: what `run` and `demo` share."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import orjson

from collect.config import RunInputs, load_inputs, runnable
from collect.config.endpoints import refuse_unusable_keys
from collect.config.models import refuse_too_few_files
from collect.console.progress import RunReport
from collect.console.run_summary import detectable_lines, is_first, show
from collect.console.screen import open_screen
from collect.execute.budget import parse_assumed, refuse_unpriced, with_prices
from collect.execute.job import stored_job
from collect.execute.run import (
    Options,
    refuse_foreign_executables,
    refuse_foreign_hosts,
    refuse_other_builds,
    resume,
    run,
)
from collect.plan.changes import newest_first
from collect.plan.narrow import narrow
from collect.plan.plan import PlanSize, planned_sizes
from collect.run_folder.log import RunLog, is_begun, resume_command
from collect.runners.base import now_ms
from schemas.config.prices import Price
from schemas.config.project import Thresholds
from schemas.errors import ConfigError, NotResumable, Problem, RunInLake, nearest
from schemas.lake.footer import parts_in
from schemas.lake.layout import lake_of, month_of
from schemas.run.config import Narrowed
from schemas.run.layout import refuse_name
from schemas.run.model_names import ModelNames
from schemas.run.result import Event

WITH_RESUME = frozenset(
    ["--runs", "--resume", "--max-cost", "--assume-price", "--allow-host", "--report", "--json"]
)
"""Flags that change nothing of a run as it was planned."""


def narrowed_inputs(
    suite: str,
    run_profile: str,
    wanted: Narrowed,
    allowed_hosts: Sequence[str] | None,
    *,
    skip_unevaluable: bool,
) -> RunInputs:
    """Return what the command line asks for, loaded, narrowed and known to be runnable.

    Raises:
        ConfigError: all problems of all files involved, or of the flags.
    """
    hosts = allowed_hosts or ()
    inputs = load_inputs(suite, run_profile, working_dir=Path.cwd(), allowed_hosts=hosts)
    return runnable(narrow(inputs, wanted), skip_unevaluable=skip_unevaluable)


def refuse_beside_resume(flags: Mapping[str, object]) -> None:
    """A run goes on as it was planned; flags that would change it are errors, not ignored.

    Raises:
        ConfigError: naming every flag that is given.
    """
    given = [flag for flag, value in flags.items() if value and flag not in WITH_RESUME]
    if given:
        what = "cannot be given with --resume: the run goes on as it was planned"
        raise ConfigError([Problem(None, f"{', '.join(given)} {what}")])


def in_lake(runs_dir: Path, run_id: str, month: str | None = None) -> bool:
    """Return whether the lake holds rows of a run by this name, whose folder is gone.

    With a month, only one that began in it counts.
    """
    lake, months = lake_of(runs_dir), None if month is None else (month,)
    return any(parts_in(lake, table, run_id, months) for table in ("plans", "runs", "results"))


def start(inputs: RunInputs, options: Options) -> int:
    """Make one run, show it, and return the exit code.

    Raises:
        ConfigError: the run id cannot be a folder's name, or a limited cost cannot be known.
        RunExists: the run id is taken.
        RunInLake: its folder is gone, and its rows are in the lake.
    """
    runs_dir, run_id = options.runs_dir, options.run_id
    if run_id is not None:
        refuse_name(run_id, runs_dir)
    if run_id is not None and in_lake(runs_dir, run_id) and not (runs_dir / run_id).exists():
        raise RunInLake(runs_dir, run_id)
    refuse_unusable_keys(inputs.models)
    screen = open_screen()
    if any(model.embedded is not None for model in inputs.models):
        from collect.local.servers import refuse_unservable  # noqa: PLC0415 - few runs serve one

        refuse_unservable(inputs, screen.note)
    limit = inputs.profile.execution_policy.max_concurrency
    sizes = planned_sizes(inputs)
    n_planned = sum(size.n_planned for size in sizes.values())
    refuse_too_few_files(inputs.models, limit, n_planned, inputs.profile_path)
    now = datetime.now(tz=UTC)
    inputs = with_prices(inputs, now.date(), _assumed(options))
    if options.max_cost_usd is not None:
        refuse_unpriced(inputs.models)

    def open_log() -> RunLog:
        if run_id is not None:
            return RunLog.create(runs_dir / run_id)
        month = month_of(round(now.timestamp() * 1000))
        return RunLog.create_free(runs_dir, now, partial(in_lake, runs_dir, month=month))

    suite_id, names = inputs.suite.suite_id, ModelNames.of_models(inputs.models)
    words = _LastWords(runs_dir, suite_id, sizes, inputs.project.thresholds, names)
    report = run(inputs, open_log, screen, options, words.prepare)
    return _shown(report, options, words)


def go_on(run: str, options: Options) -> int:
    """Complete a run, by its id or `latest`, show it, and return the exit code.

    Raises:
        NotResumable: there is nothing to go on with, or a model would be another one.
        RunBusy: another collector works on it.
        ConfigError: a limited cost cannot be known, or a key would go to a host that it is not for.
    """
    runs_dir = options.runs_dir
    run_dir = runs_dir / (latest(runs_dir) if run == "latest" else run)
    if not run_dir.is_dir():
        raise NotResumable(run_dir, _no_such_run(run, runs_dir))
    log, screen = RunLog.reopen(run_dir), open_screen()
    try:
        job = stored_job(run_dir, options.max_cost_usd, _assumed(options))
        refuse_foreign_hosts(job.models, options.allowed_hosts)
        refuse_unusable_keys(job.models)
        if any(model.embedded is not None for model in job.models):
            from collect.local.servers import refuse_unservable_again  # noqa: PLC0415 - as above

            refuse_unservable_again(run_dir, job.models, screen.note)
        refuse_too_few_files(job.models, job.policy.max_concurrency, job.n_planned)
        refuse_foreign_executables(run_dir, job.models, job.again)
        if job.max_cost_usd is not None:
            refuse_unpriced(job.models)
        unsure = refuse_other_builds(run_dir, job.models, job.again)
        for model_id, what in unsure.items():
            event, at_ms = "build_unknown", now_ms()
            log.append(
                Event(run_id=job.run_id, event=event, at_ms=at_ms, model_id=model_id, detail=what)
            )
        job = replace(job, warnings=(*job.warnings, *unsure.values()))
    except BaseException:
        log.close()
        raise
    suite_id = orjson.loads((run_dir / "config.json").read_bytes())["suite_id"]
    names = ModelNames.of_models(job.models)
    words = _LastWords(runs_dir, suite_id, job.sizes, job.thresholds, names)
    report = resume(job, log, screen, words.prepare)
    return _shown(report, options, words)


def latest(runs_dir: Path) -> str:
    """Return the run that started last.

    Raises:
        NotResumable: there is none.
    """
    for run_dir in newest_first(runs_dir):
        if is_begun(run_dir):
            return run_dir.name
    raise NotResumable(runs_dir / "latest", "there are no runs; make one with `collect run`")


def _no_such_run(run: str, runs_dir: Path) -> str:
    known = [run_dir.name for run_dir in newest_first(runs_dir)]
    if not known:
        return f"there are no runs in {runs_dir}; make one with `collect run`"
    near = nearest(run, known)
    hint = f"did you mean `{near}`?" if near else f"the newest of {len(known):,} is `{known[0]}`"
    return f"there is no such run in {runs_dir}; {hint}"


def _assumed(options: Options) -> Price | None:
    if options.assume_price is None:
        return None
    return parse_assumed(options.assume_price, datetime.now(tz=UTC).date())


@dataclass
class _LastWords:
    """What is said when a run is over, made ready while the mirror seals its last file."""

    runs_dir: Path
    suite_id: str
    sizes: Mapping[str, PlanSize]
    limits: Thresholds
    names: ModelNames
    detectable: Sequence[str] = ()
    is_first: bool = True

    def prepare(self) -> None:
        self.detectable = detectable_lines(
            self.sizes, self.runs_dir, self.suite_id, self.limits, self.names
        )
        self.is_first = is_first(self.runs_dir, self.suite_id)


def _shown(report: RunReport, options: Options, words: _LastWords) -> int:
    """Print what came of a run, and make its report; the path of that comes last."""
    with_page = options.with_page
    if not options.as_json:
        again = options.again or resume_command(Path(report.run_dir))
        first = words.is_first
        show(report, again, words.detectable, words.limits, is_first=first, with_page=with_page)
    if with_page:
        from collect.execute.mirror_process import add_page  # noqa: PLC0415 - few ask for it

        sys.stdout.flush()
        add_page(report)
    if options.as_json:
        sys.stdout.write(orjson.dumps(asdict(report)).decode() + "\n")
    elif report.report_path is not None:
        sys.stdout.write(f"{report.report_path}\n")
    return report.exit_code

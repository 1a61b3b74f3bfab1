"""From loaded inputs to a finished run on the screen: what `run` and `demo` share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

import orjson

from collect.config import RunInputs, load_inputs, runnable
from collect.config.endpoints import refuse_unusable_keys
from collect.config.models import refuse_too_few_files
from collect.console.progress import RunReport
from collect.console.run_summary import detectable_lines, is_first
from collect.console.screen import open_screen
from collect.execute.budget import parse_assumed, refuse_unpriced, with_prices
from collect.execute.job import stored_job
from collect.execute.run import (
    NO_OPTIONS,
    Options,
    refuse_foreign_executables,
    refuse_foreign_hosts,
    refuse_other_builds,
    resume,
    run,
)
from collect.plan.narrow import narrow, parse_shard
from collect.plan.plan import planned_sizes
from collect.run_folder.log import RunLog, is_begun, resume_command
from collect.run_folder.reuse import newest_first
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


def narrowed_inputs(
    suite: str,
    run_profile: str,
    *,
    allow_host: Sequence[str] | None,
    case: Sequence[str] | None,
    tag: Sequence[str] | None,
    model: Sequence[str] | None,
    max_trials: int | None,
    shard: str | None,
    skip_unevaluable: bool = False,
) -> RunInputs:
    """Return what the command line asks for, loaded, narrowed and known to be runnable.

    Raises:
        ConfigError: all problems of all files involved, or of the flags.
    """
    inputs = load_inputs(suite, run_profile, working_dir=Path.cwd(), allowed_hosts=allow_host or ())
    if shard is not None:
        shard = str(parse_shard(shard))
    wanted = Narrowed(
        cases=tuple(case or ()),
        tags=tuple(tag or ()),
        models=tuple(model or ()),
        max_trials=max_trials,
        shard=shard,
    )
    return runnable(narrow(inputs, wanted), skip_unevaluable=skip_unevaluable)


def refuse_beside_resume(flags: Mapping[str, object]) -> None:
    """A run goes on as it was planned; flags that would change it are errors, not ignored.

    Raises:
        ConfigError: naming every flag that is given.
    """
    given = [flag for flag, value in flags.items() if value]
    if given:
        what = "cannot be given with --resume: the run goes on as it was planned"
        raise ConfigError([Problem(None, f"{', '.join(given)} {what}")])


def in_lake(runs_dir: Path, run_id: str, month: str | None = None) -> bool:
    """Return whether the lake holds rows of a run by this name, whose folder is gone.

    Args:
        runs_dir: where runs are kept.
        run_id: the name.
        month: in which alone such a run may have begun; None: in any.
    """
    lake, months = lake_of(runs_dir), None if month is None else (month,)
    return any(parts_in(lake, table, run_id, months) for table in ("plans", "runs", "results"))


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line says about a run, whatever it is made of."""

    runs_dir: Path
    run_id: str | None = None
    """The folder's name; None for the time in UTC."""
    as_json: bool = False
    again: str | None = None
    """The command that goes on after a run that is not complete; None: the one that resumes it."""
    options: Options = NO_OPTIONS
    assume_price: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that may get a key of their own, beside those of benchlake.yaml: for `go_on`."""
    with_page: bool = False
    """Make the report of it when it has ended."""


def start(inputs: RunInputs, wish: Wish) -> int:
    """Make one run, show it, and return the exit code.

    Raises:
        ConfigError: the run id cannot be a folder's name, or a limited cost cannot be known.
        RunExists: the run id is taken.
        RunInLake: its folder is gone, and its rows are in the lake.
    """
    runs_dir, run_id = wish.runs_dir, wish.run_id
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
    n_planned = sum(size.n_planned for size in planned_sizes(inputs).values())
    refuse_too_few_files(inputs.models, limit, n_planned, inputs.profile_path)
    now = datetime.now(tz=UTC)
    inputs = with_prices(inputs, now.date(), _assumed(wish))
    if wish.options.max_cost_usd is not None:
        refuse_unpriced(inputs.models)

    def open_log() -> RunLog:
        if run_id is not None:
            return RunLog.create(runs_dir / run_id)
        month = month_of(round(now.timestamp() * 1000))
        return RunLog.create_free(runs_dir, now, partial(in_lake, runs_dir, month=month))

    words = _LastWords(
        lambda: detectable_lines(
            planned_sizes(inputs),
            runs_dir,
            inputs.suite.suite_id,
            inputs.project.thresholds,
            ModelNames.of_models(inputs.models),
        ),
        lambda: is_first(runs_dir, inputs.suite.suite_id),
        inputs.project.thresholds,
    )
    report = run(inputs, open_log, screen, wish.options, words.prepare)
    return _shown(report, wish, words)


def go_on(run: str, wish: Wish) -> int:
    """Complete a run that was cut short, show it, and return the exit code.

    Args:
        run: its id, or `latest`.
        wish: what the command line says.

    Raises:
        NotResumable: there is nothing to go on with, or a model would be another one.
        RunBusy: another collector works on it.
        ConfigError: a limited cost cannot be known, or a key would go to a host that it is not for.
    """
    run_dir = wish.runs_dir / (latest(wish.runs_dir) if run == "latest" else run)
    if not run_dir.is_dir():
        raise NotResumable(run_dir, _no_such_run(run, wish.runs_dir))
    log, screen = RunLog.reopen(run_dir), open_screen()
    try:
        job = stored_job(run_dir, wish.options.max_cost_usd, _assumed(wish))
        refuse_foreign_hosts(job.models, wish.allowed_hosts)
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
            log.append(
                Event(
                    run_id=job.run_id,
                    event="build_unknown",
                    at_ms=now_ms(),
                    model_id=model_id,
                    detail=what,
                )
            )
        job = replace(job, warnings=(*job.warnings, *unsure.values()))
    except BaseException:
        log.close()
        raise
    suite_id = orjson.loads((run_dir / "config.json").read_bytes())["suite_id"]
    words = _LastWords(
        lambda: detectable_lines(
            job.sizes, wish.runs_dir, suite_id, job.thresholds, ModelNames.of_models(job.models)
        ),
        lambda: is_first(wish.runs_dir, suite_id),
        job.thresholds,
    )
    report = resume(job, log, screen, words.prepare)
    return _shown(report, wish, words)


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


def _assumed(wish: Wish) -> Price | None:
    if wish.assume_price is None:
        return None
    return parse_assumed(wish.assume_price, datetime.now(tz=UTC).date())


class _LastWords:
    """What is said when a run is over, made ready while the mirror seals its last file."""

    def __init__(
        self, detectable: Callable[[], list[str]], is_first: Callable[[], bool], limits: Thresholds
    ) -> None:
        self._detectable = detectable
        self._is_first = is_first
        self.limits = limits

    @cached_property
    def detectable(self) -> list[str]:
        return self._detectable()

    @cached_property
    def is_first(self) -> bool:
        return self._is_first()

    def prepare(self) -> None:
        import collect.console.run_summary  # noqa: F401, PLC0415 - it loads what draws tables

        _ = self.detectable, self.is_first


def _shown(report: RunReport, wish: Wish, words: _LastWords) -> int:
    """Print what came of a run, and make its report; the path of that comes last."""
    if not wish.as_json:
        from collect.console.run_summary import show  # noqa: PLC0415 - see `_LastWords`

        again = wish.again or resume_command(Path(report.run_dir))
        show(
            report,
            again,
            words.detectable,
            words.limits,
            is_first=words.is_first,
            with_page=wish.with_page,
        )
    if wish.with_page:
        from collect.execute.mirror_process import add_page  # noqa: PLC0415 - few ask for it

        sys.stdout.flush()
        add_page(report)
    if wish.as_json:
        sys.stdout.write(orjson.dumps(asdict(report)).decode() + "\n")
    elif report.report_path is not None:
        sys.stdout.write(f"{report.report_path}\n")
    return report.exit_code

"""What doubts are made of: for each model of a run what is missing, failed, late or not its own.

Aggregates are SQL, so a handful of rows come back. Doubts share their words too: lists that stay
short, and commands that can be pasted.
"""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analyze.comparison.evidence.outcomes import RunFacts, read_facts
from analyze.render.numbers import percent, some, whole
from analyze.report.sections import ReportContext, query
from analyze.report.sections.answer import Verdicts, config_of_run, verdicts_of
from schemas.errors import runs_flag
from schemas.output.summary import GroupSummary
from schemas.run.config import RunConfig

REUSED = """
    select model_id, reused_from_run_id, count(*)
    from trials
    where run_id = ? and is_reused
    group by all
    order by model_id, count(*) desc, reused_from_run_id
"""
"""Results that were taken from older runs, by model and run."""

EVENTS = """
    select event, model_id, detail
    from stg_events
    where run_id = ? and event in ('run_stopped', 'model_stopped', 'provider_note')
    order by record_no
"""
"""What happened to the run, in order."""


MAX_REASON_CHARS = 200
"""Characters of a reason that an event gives."""

QUOTE = '"'

ACTED_ON = frozenset('"$`\\!')
"""What a shell acts on between double quotes; without it a query in them stays easy to read."""


@dataclass(frozen=True)
class Outside:
    """Failures of one kind that are not the model's."""

    failure_type: str
    cause: str
    n_trials: int
    n_scorable: int


@dataclass(frozen=True)
class ModelFacts:
    """One model of a run."""

    group: GroupSummary
    verdicts: Verdicts
    n_missing_scorable: int
    """Trials without a result, of those that can get a verdict."""
    n_timeout: int
    """Of the trials that can get a verdict."""
    n_measured: int
    """Results that were asked for in this run."""
    n_timed: int
    n_late: int
    """Timed ones that our own loop may have made longer by more than the margin of ratios."""
    worst_late_ms: int
    """Of the late ones."""
    outside: tuple[Outside, ...]
    reused_from: dict[str, int]
    """Results that were taken from each older run."""
    who: RunFacts
    notes: tuple[str, ...]
    """What the collector noted about its provider."""
    stopped: str | None
    name: str
    """For sentences."""

    @property
    def model_id(self) -> str:
        """Its local name."""
        return self.group.model_id

    @property
    def n_missing(self) -> int:
        """Planned trials without a result."""
        return self.group.n_planned - self.group.n_total


@dataclass(frozen=True)
class RunDoubtFacts:
    """One run, and its baseline where that can make a difference."""

    context: ReportContext
    config: RunConfig | None
    models: tuple[ModelFacts, ...]
    stopped: str | None
    base_who: dict[str, list[RunFacts]]
    """Who answered in the runs of the baseline, by model_id."""


def doubt_facts(context: ReportContext) -> RunDoubtFacts:
    """Return what the lake and the run's folder know.

    Raises:
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    session, run_id = context.session, context.run_id
    margin = context.limits.thresholds.ratio_margin
    scorable = _scorable(context)
    measured = {
        row[0]: row[1:] for row in session.rows(query("late_trials"), [margin, margin, run_id])
    }
    outside, reused = (
        _by_model(context, query("outside_failures")),
        _by_model(context, REUSED),
    )
    notes: defaultdict[str, list[str]] = defaultdict(list)
    stopped: dict[str | None, str] = {}
    for event, model_id, detail in session.rows(EVENTS, [run_id]):
        if event == "provider_note":
            notes[model_id].append(_event_text(detail))
        else:
            stopped[model_id] = _event_text(detail)
    runs = [run_id, *context.baseline]
    ids = [group.model_id for group in context.summary.models]
    who = read_facts(session, runs, [(one, model_id) for one in runs for model_id in ids])
    models = []
    for group in context.summary.models:
        name = group.model_id
        n_missing_scorable, n_timeout = scorable[name]
        n_measured, n_timed, n_late, worst = measured.get(name, (0, 0, 0, None))
        models.append(
            ModelFacts(
                group=group,
                verdicts=verdicts_of(group),
                n_missing_scorable=n_missing_scorable,
                n_timeout=n_timeout,
                n_measured=n_measured,
                n_timed=n_timed,
                n_late=n_late,
                worst_late_ms=worst or 0,
                outside=tuple(Outside(*rest) for rest in outside[name]),
                reused_from=dict(reused[name]),
                who=who[run_id, name],
                notes=tuple(dict.fromkeys(notes[name])),
                stopped=stopped.get(name),
                name=context.names.of(name),
            )
        )
    return RunDoubtFacts(
        context=context,
        config=config_of_run(context.folder),
        models=tuple(models),
        stopped=stopped.get(None),
        base_who={name: [who[one, name] for one in context.baseline] for name in ids},
    )


def _scorable(context: ReportContext) -> dict[str, tuple[int, int]]:
    """Return what is missing and what timed out, of the trials that can get a verdict, by model.

    Where all trials of a model can get one, or none, its summary has it. Otherwise results are
    joined to their plan, which takes a second for a million.
    """
    found, is_mixed = {}, False
    for group in context.summary.models:
        n_missing = group.n_planned - group.n_total
        is_whole = group.n_scorable == group.n_planned
        found[group.model_id] = (n_missing, group.n_timeout) if is_whole else (0, 0)
        has_any = bool(n_missing or group.n_timeout)
        is_mixed = is_mixed or (has_any and 0 < group.n_scorable < group.n_planned)
    if is_mixed:
        rows = context.session.rows(query("missing_trials"), [context.run_id])
        found |= {name: (n_missing, n_timeout) for name, n_missing, n_timeout in rows}
    return found


def _by_model(context: ReportContext, query: str) -> defaultdict[str, list[Any]]:
    """Return the rows of each model, without its name."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for model_id, *rest in context.session.rows(query, [context.run_id]):
        found[model_id].append(rest)
    return found


def _event_text(detail: str | None) -> str:
    """Return what an event says, on one line; its detail is JSON text, mostly of a sentence."""
    try:
        value = json.loads(detail or '""')
    except ValueError:
        value = detail
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split())[:MAX_REASON_CHARS]


def names_of(models: Sequence[ModelFacts]) -> str:
    """Return the names of models, as far as a sentence takes them."""
    return some([one.name for one in models])


def ids_of(models: Sequence[ModelFacts]) -> tuple[str, ...]:
    """Return the names of models, all of them."""
    return tuple(one.model_id for one in models)


def share(part: int, of: int, what: str = "") -> str:
    """Return a part of a number that is not 0: `17 of 24 (70.8 %)`, `6 of 48 results (12.5 %)`."""
    return f"{whole(part)} of {whole(of)}{f' {what}' if what else ''} ({percent(part / of)} %)"


def query_of(context: ReportContext, select: str, where: str = "", rest: str = "") -> str:
    """Return the command that asks the lake about the trials of the run.

    Args:
        context: the run.
        select: columns and the view they are of.
        where: which rows of the run; all unless given.
        rest: how they are grouped and ordered.
    """
    run_id = context.run_id.replace("'", "''")
    also = f" and {where}" if where else ""
    sql = f"{select} where run_id = '{run_id}'{also} {rest}".rstrip()
    is_plain = sql.isprintable() and not ACTED_ON.intersection(sql)
    return f"{context.command('sql')} {f'{QUOTE}{sql}{QUOTE}' if is_plain else shlex.quote(sql)}"


def resume_of(context: ReportContext) -> str | None:
    """Return the command that completes the run; None where it cannot be completed here."""
    if context.folder is None or context.run.row.is_imported:
        return None
    words = ["collect", "run", "--resume", context.run_id]
    return shlex.join([*words, *runs_flag(context.session.runs_dir)])


def compare_of(context: ReportContext, *options: str) -> str:
    """Return the command that compares the run with its baseline."""
    return context.command("compare", ",".join(context.baseline), context.run_id, *options)

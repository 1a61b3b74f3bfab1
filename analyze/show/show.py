"""What `analyze show` shows: a run, a case of it, or trials of one model word for word.

Reads what a page is made of and nothing else: one frame of an artifact file, the text of one trial.
How it looks is decided in `report` and `transcript`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.aliases import CaseIds, read_ids
from analyze.query.run_list import read_run
from analyze.query.run_list_render import run_object
from analyze.query.run_ref import (
    model_for,
    read_names,
    resolve_run,
    run_folder,
    unknown_name,
)
from analyze.show.judgements import read_judgements
from analyze.show.preferences import read_preferences
from analyze.show.run_page import RunPage, case_lines, run_page_lines
from analyze.show.trace_file import NoTrace, read_trace, validator_of
from analyze.show.transcript import TrialPage, transcript_lines
from analyze.show.trial_rows import ShownTrial, read_answers, read_text, read_trials
from analyze.summary.summarize import summary_of
from schemas.errors import ConfigError, Problem
from schemas.run.model_names import with_names
from schemas.run.trace import Artifact

if TYPE_CHECKING:
    from analyze.query.session import Session

MAX_CELLS = 20
"""Cases with a model that a run's page names of those that did not go well."""

MAX_TRIALS = 20
"""Of their trials, in JSON."""

MAX_ANSWER_CHARS = 400
"""Characters of an answer in a list."""

NOT_WELL = "trials.passed = false or not trials.is_success"


@dataclass(frozen=True)
class Shown:
    """A page as lines of text and as JSON."""

    lines: Sequence[str]
    data: object


def show(
    session: Session,
    run: str,
    case: str | None = None,
    model: str | None = None,
    repetition: int | None = None,
    *,
    width: int,
) -> Shown:
    """Return the page of a run, of a case of it, or of trials of one model.

    Args:
        session: the open lake.
        run: what `resolve_run` takes.
        case: a case_id; without it the run as a whole.
        model: a model_id or model string; without it every trial of the case in a list.
        repetition: from 1; without it all of the model.
        width: columns of the terminal.

    Raises:
        RunNotFound: there is no such run.
        ConfigError: no such case, model or repetition in it; names the nearest.
    """
    run_id = resolve_run(session, run)
    ids = read_ids(session)
    with session.as_written() as written:
        if case is None:
            return _run(written, run_id, ids, width)
        trials = _trials_of(written, run_id, case, ids)
        if model is None:
            return _case(written, trials, ids, width)
        return _trials(written, _chosen(trials, model_for(written, model) or model, repetition))


def _trials_of(session: Session, run_id: str, case: str, ids: CaseIds) -> list[ShownTrial]:
    """Return the trials of a case under the id that the run wrote, whichever of its ids is named.

    Raises:
        ConfigError: the run has no such case; names the nearest.
    """
    if trials := read_trials(session, run_id, case_id=case):
        return trials
    rows = session.rows(
        "select distinct suite_id, case_id from stg_plans where run_id = ?", [run_id]
    )
    for suite_id, case_id in sorted(rows):
        if case_id in ids.all_of(suite_id, case):
            return read_trials(session, run_id, case_id=case_id)
    known = [case_id for _, case_id in rows]
    what = f"run `{run_id}` has no case `{case}`"
    raise unknown_name(what, case, known)


def _run(session: Session, run_id: str, ids: CaseIds, width: int) -> Shown:
    folder = run_folder(session, run_id)
    not_well = session.rows(
        f"select case_id, model_id, count(*) from trials where run_id = ? and ({NOT_WELL}) "  # noqa: S608
        "group by all order by case_id, model_id",
        [run_id],
    )
    n_not_well = sum(n for *_, n in not_well)
    shown = [(case_id, model_id) for case_id, model_id, _ in not_well[:MAX_CELLS]]
    trials = read_trials(session, run_id, cells=shown) if shown else []
    page = RunPage(
        run=read_run(session, run_id),
        summary=summary_of(session, run_id, folder),
        trials=trials,
        n_more_cells=len(not_well) - len(shown),
        missing_cases=_missing_cases(session, run_id),
        problems=_problems(session.runs_dir, folder),
        runs_dir=session.runs_dir,
        renamed=_renamed(session, run_id, ids),
    )
    data = {
        "run": run_object(page.run),
        "summary": page.summary.model_dump(mode="json"),
        "n_not_passed": n_not_well,
        "not_passed": [
            asdict(trial) for trial in trials if not (trial.is_missing or trial.is_well)
        ][:MAX_TRIALS],
        "missing_cases": list(page.missing_cases),
        "problems": list(page.problems),
        "renamed": dict(page.renamed),
    }
    return Shown(list(run_page_lines(with_names(page, read_names(session)), width)), data)


def _renamed(session: Session, run_id: str, ids: CaseIds) -> dict[str, str]:
    """Return the cases of a run that have a newer id, by the id that the run wrote."""
    if not ids.newest:
        return {}
    rows = session.rows(
        "select distinct suite_id, case_id from stg_plans where run_id = ? order by all", [run_id]
    )
    newest = {case_id: ids.newest_of(suite_id, case_id) for suite_id, case_id in rows}
    return {old: new for old, new in newest.items() if old != new}


def _missing_cases(session: Session, run_id: str) -> list[str]:
    """Return the cases of which a planned trial has no result, each once."""
    rows = session.rows(
        "select distinct case_id from stg_plans anti join trials "
        "using (run_id, model_id, case_id, repetition) where run_id = ? order by case_id",
        [run_id],
    )
    return [case_id for (case_id,) in rows]


def _problems(runs_dir: Path, folder: Path | None) -> Sequence[str]:
    """Return what is known to be wrong with a run's folder."""
    from analyze.lake.sync import problems_of  # noqa: PLC0415 - loads what reads logs

    return [] if folder is None else problems_of(runs_dir, folder)


def _case(session: Session, trials: Sequence[ShownTrial], ids: CaseIds, width: int) -> Shown:
    first = trials[0]
    answers = read_answers(session, first.run_id, first.case_id, MAX_ANSWER_CHARS)
    validator = validator_of(run_folder(session, first.run_id), first.case_id)
    shown = [answers.get(trial.record_no or 0, "") for trial in trials]
    all_ids = ids.all_of(first.suite_id, first.case_id)
    data = {
        "run_id": first.run_id,
        "case_id": first.case_id,
        "all_case_ids": all_ids,
        "validator": validator,
        "trials": [
            asdict(trial) | {"answer": answer} for trial, answer in zip(trials, shown, strict=True)
        ],
    }
    named = with_names(trials, read_names(session))
    return Shown(list(case_lines(named, shown, validator, width, all_ids)), data)


def _trials(session: Session, trials: Sequence[ShownTrial]) -> Shown:
    folder = run_folder(session, trials[0].run_id)
    validator = validator_of(folder, trials[0].case_id)
    lines: list[str] = []
    data: list[dict[str, object]] = []
    names = read_names(session)
    records = [trial.record_no for trial in trials if trial.record_no is not None]
    judged = read_judgements(session, trials[0].run_id, records)
    preferred = read_preferences(session, trials[0].run_id, records)
    for trial in trials:
        said = judged.get(trial.record_no or 0, [])
        pairs = preferred.get(trial.record_no or 0, [])
        text, trace = read_text(session, trial), read_trace(folder, trial.artifact_path)
        named = TrialPage(with_names(trial, names), text, trace, validator, said, pairs)
        lines += [*(["", ""] if lines else []), *transcript_lines(named)]
        missing = trace.reason if isinstance(trace, NoTrace) else None
        data.append(
            asdict(trial)
            | asdict(text)
            | {
                "validator": validator,
                "judgements": [one.as_json() for one in said],
                "preferences": [one.as_json() for one in pairs],
                "artifact": trace.model_dump(mode="json") if isinstance(trace, Artifact) else None,
                "no_artifact_because": missing,
            }
        )
    return Shown(lines, data)


def _chosen(trials: Sequence[ShownTrial], model: str, repetition: int | None) -> list[ShownTrial]:
    of_model = [trial for trial in trials if trial.model_id == model] or [
        trial for trial in trials if trial.model == model
    ]
    if not of_model:
        known = [name for trial in trials for name in (trial.model_id, trial.model)]
        first = trials[0]
        what = f"no model `{model}` was asked case `{first.case_id}` in run `{first.run_id}`"
        raise unknown_name(what, model, known)
    if repetition is None:
        return of_model
    chosen = [trial for trial in of_model if trial.repetition == repetition]
    if not chosen:
        what = f"model `{model}` has no repetition {repetition} of case `{trials[0].case_id}`"
        most = max(trial.repetition for trial in of_model)
        raise ConfigError([Problem(None, what, allowed=f"1 to {most}")])
    return chosen

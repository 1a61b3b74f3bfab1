"""Whether judges that have a say in a gate's verdicts are calibrated against people (S23).

A calibration is computed from labels when it is asked for and never kept, so that it cannot outlive
what it is of: only labelled trials count that were scored by the judges of the candidate, asked the
same way, answered by the same models, about cases that have not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.gate.rules import EXIT_CODES, worst_of
from analyze.judges.calibration import calibration, planned_trials
from analyze.judges.calibration_words import MIN_TRUSTED
from analyze.judges.labels import Labels, read_labels, runs_labelled
from analyze.judges.opinions import TrialKey, read_opinions
from analyze.lake.overlay import read_sql
from analyze.render.numbers import percent, score
from schemas.errors import counted
from schemas.output.regressions import GateResult, JudgeCalibration

if TYPE_CHECKING:
    from analyze.query.session import Session

DECIDING = """
select
    said.evaluation_profile_id,
    list_sort(list(distinct said.judge_hash) filter (where said.judge_hash is not null))
from judgements as said
inner join stg_deciding_profiles as deciding
    on said.run_id = deciding.run_id
    and said.evaluation_profile_id = deciding.evaluation_profile_id
where list_contains(?, said.run_id) and said.is_current
group by said.evaluation_profile_id
order by said.evaluation_profile_id
"""

SERVED = """
select list_sort(list(distinct served_model) filter (where served_model is not null))
from judge_iterations
where list_contains(?, run_id) and evaluation_profile_id = ? and is_current and failure is null
"""


def judge_calibrations(
    session: Session, run_ids: Sequence[str], path: Path | None, least: float | None
) -> Iterator[JudgeCalibration]:
    """Yield how each profile that has a say in the verdicts of a candidate stands to labels.

    Args:
        session: the open lake.
        run_ids: of the candidate.
        path: the file of labels; None: there is none.
        least: lower limit of sensitivity + specificity - 1 that is asked for; None: none is.

    Raises:
        ConfigError: a label is wrong.
        ViewError: the lake cannot be read.
    """
    if path is None and least is None:
        return
    labels = None if path is None else _labels(session, path)
    for profile, hashes in session.rows(DECIDING, [list(run_ids)]):
        ((models,),) = session.rows(SERVED, [list(run_ids), profile])
        found = JudgeCalibration(
            evaluation_profile_id=profile,
            judge_hashes=tuple(hashes or ()),
            served_models=tuple(models or ()),
            min_calibration=least,
        )
        if labels is not None and len(found.judge_hashes) == 1:
            found = _of_labels(session, run_ids, labels, found)
        yield found.model_copy(update={"problem": _problem(found, path)})


def _labels(session: Session, path: Path) -> Labels:
    known = [run_id for (run_id,) in session.rows("select run_id from stg_runs order by run_id")]
    named = [run_id for run_id in runs_labelled(path) if run_id in set(known)]
    return read_labels(path, known, planned_trials(session, named))


def _of_labels(
    session: Session, run_ids: Sequence[str], labels: Labels, found: JudgeCalibration
) -> JudgeCalibration:
    """Return it with what the labels say that are of its judges."""
    profile, (hashed,) = found.evaluation_profile_id, found.judge_hashes
    labelled = sorted({trial.run_id for trial in labels.by_trial})
    rows = session.rows(
        read_sql("gate/labelled_trials.sql"),
        [list(run_ids), profile, labelled, profile, hashed, list(found.served_models)],
    )
    own = {TrialKey(*row) for row in rows} & labels.by_trial.keys()
    opinions = read_opinions(session, labelled, profile, of="profile")
    one = calibration([said for said in opinions if said.trial in own], labels.of(own))
    return found.model_copy(
        update={
            "n_labelled": len(labels.by_trial),
            "n_labels": one.n_labels,
            "sensitivity": one.sensitivity,
            "specificity": one.specificity,
            "youden": one.youden,
            "youden_low": one.youden_low,
        }
    )


def _problem(found: JudgeCalibration, path: Path | None) -> str | None:
    """Return why its verdicts are refused; None: they are not, or nothing is asked for."""
    least, profile = found.min_calibration, found.evaluation_profile_id
    if least is None:
        return None
    asked = f"the judges of {profile} are not calibrated: `min_calibration` is {least:g}, and"
    if path is None:
        return f"{asked} no labels were given; --labels FILE names them"
    if len(found.judge_hashes) != 1:
        return (
            f"{asked} they judged in {counted(len(found.judge_hashes), 'known way')}; "
            f"`collect evaluate RUN --evaluation-profile {profile}` judges all in one"
        )
    if not found.n_labels:
        models = f", served by {', '.join(found.served_models)}," if found.served_models else ""
        return (
            f"{asked} none of {counted(found.n_labelled, 'labelled trial')} was judged by them"
            f"{models} and is of a case as it is now: another judge, prompt, model or rubric needs "
            f"the labelled runs judged again with it"
        )
    if found.n_labels < MIN_TRUSTED:
        many = counted(found.n_labels, "label is", "labels are")
        return f"{asked} {many} of what they judged: {MIN_TRUSTED} are needed"
    if found.youden_low is None:
        return f"{asked} people passed all or none of {counted(found.n_labels, 'trial')}"
    if found.youden_low < least:
        return (
            f"{asked} sensitivity {percent(found.sensitivity)} % and specificity "
            f"{percent(found.specificity)} % come to {score(found.youden)} with a lower limit of "
            f"{score(found.youden_low)}, by {counted(found.n_labels, 'label')}"
        )
    return None


def with_calibrations(result: GateResult, calibrations: Sequence[JudgeCalibration]) -> GateResult:
    """Return a result that refuses pass rates by judges that are not calibrated."""
    problems = [one.problem for one in calibrations if one.problem is not None]
    lines = result.lines
    if problems:
        lines = tuple(
            line.model_copy(
                update={
                    "outcome": "cannot_judge",
                    "why": f"{'; '.join(problems)}; by these verdicts: {line.why}",
                    "by_open_shift": False,
                }
            )
            if line.metric == "passed_rate"
            else line
            for line in lines
        )
    outcome = worst_of([line.outcome for line in lines])
    return result.model_copy(
        update={
            "lines": lines,
            "outcome": outcome,
            "exit_code": EXIT_CODES[outcome],
            "calibrations": tuple(calibrations),
        }
    )

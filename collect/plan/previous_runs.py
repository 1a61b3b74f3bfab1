"""What the last runs of a suite showed, for a better estimate and for what a plan can show (S11).

Tokens of each case, and verdicts. Reads results.jsonl line by line; a line that cannot be read is
skipped without a warning. The lake is not read, since its engines stay out of this process. Of the
analysis only formulas that need the standard library alone are used, and the sentences of
`analyze power`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from analyze.power.render import LETTERS, merged, power_facts, power_lines
from analyze.stats.power.assumptions import MAX_RUNS, ObservedCase, ObservedRun, assumptions_of
from analyze.stats.power.planning import PowerPlan, power_plan
from collect.plan.changes import newest_first
from collect.plan.estimate import CaseKey, MeanTokens
from collect.plan.plan import PlanSize
from schemas.config.project import Thresholds
from schemas.errors import NotOwnFile
from schemas.io.own_files import open_own_file, read_own
from schemas.run.config import PlannedTrial
from schemas.run.layout import LOG
from schemas.run.result import loose_content_of

MAX_READ_BYTES = 64_000_000
"""What is read in a few tenths of a second: a plan, or the last words of a run, wait for it."""


class _Outcome(NamedTuple):
    """What counts of one record; trials that were taken over from an older run are no draw."""

    case_hash: str | None
    passed: bool | None
    answer: int | None
    """A hash of the text of a success."""


def tokens_seen(run_dir: Path, plan: Iterable[PlannedTrial]) -> dict[CaseKey, MeanTokens]:
    """Return the tokens of earlier answers to the very cases of a plan.

    An answer to another text under the same case_id says nothing and is left out; so is a line
    that cannot be read, since an estimate is no place to complain.
    """
    hashes = {(trial.model_id, trial.case_id): trial.case_hash for trial in plan}
    totals: dict[CaseKey, list[int]] = {}
    try:
        lines = read_own(run_dir, LOG).splitlines()
    except (OSError, NotOwnFile):
        return {}
    for line in lines:
        try:
            row = orjson.loads(line)
            key = row["model_id"], row["case_id"]
            sent, received = row["input_tokens"], row["output_tokens"]
            fits = hashes.get(key) == row["case_hash"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue
        if fits and isinstance(sent, int) and isinstance(received, int):
            total = totals.setdefault(key, [0, 0, 0])
            for at, value in enumerate((sent, received, 1)):
                total[at] += value
    return {
        key: MeanTokens(round(sent / count), round(received / count))
        for key, (sent, received, count) in totals.items()
    }


def previous_outcomes(
    runs_dir: Path, suite_id: str, model_ids: Collection[str], *, at_most: int | None = None
) -> list[dict[str, ObservedRun]]:
    """Return each model of the last runs of a suite with its verdicts, newest run first.

    Of 20 runs at most, since they also tell how much nights vary; as soon as two say enough of each
    model, no more than 64 MB are read. The shards of one plan are one run.

    No more than `at_most` bytes are read, even when that leaves a model without such a run.
    """
    found = []
    wanted, n_bytes = dict.fromkeys(model_ids, 2), 0
    for run_dirs in runs_of(runs_dir, suite_id)[:MAX_RUNS]:
        n_bytes += sum(_size(run_dir / "results.jsonl") for run_dir in run_dirs)
        is_enough = n_bytes > MAX_READ_BYTES and all(missing <= 0 for missing in wanted.values())
        if is_enough or (at_most is not None and n_bytes > at_most):
            break
        run_ids = tuple(run_dir.name for run_dir in run_dirs)
        run = {
            model_id: ObservedRun(run_ids, cases) for model_id, cases in _cases(run_dirs).items()
        }
        found.append(run)
        for model_id, seen in run.items():
            if model_id in wanted:
                wanted[model_id] -= seen.is_usable
    return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def runs_of(runs_dir: Path, suite_id: str) -> list[list[Path]]:
    """Return the folders of each run of a suite, newest run first."""
    runs: defaultdict[str, list[Path]] = defaultdict(list)
    for run_dir, group in newest_first(runs_dir, suite_id).items():
        runs[group].append(run_dir)
    return [sorted(run_dirs) for run_dirs in runs.values()]


def _cases(run_dirs: Sequence[Path]) -> dict[str, dict[str, ObservedCase]]:
    """Return what became of every case in a run; the last record of a trial counts."""
    trials: dict[tuple[str, str, int], _Outcome | None] = {}
    for run_dir in run_dirs:
        for row in _rows(run_dir):
            key = row.get("model_id"), row.get("case_id"), row.get("repetition")
            if isinstance(key[0], str) and isinstance(key[1], str) and isinstance(key[2], int):
                trials[sys.intern(key[0]), key[1], key[2]] = _outcome(row)
    # What was read makes room for what it becomes: a run may have very many cases.
    cases: defaultdict[tuple[str, str], list[_Outcome]] = defaultdict(list)
    for trial in list(trials):
        if (outcome := trials.pop(trial)) is not None:
            cases[trial[:2]].append(outcome)
    found: defaultdict[str, dict[str, ObservedCase]] = defaultdict(dict)
    for model_id, case_id in list(cases):
        found[model_id][case_id] = _case(cases.pop((model_id, case_id)))
    return dict(found)


def _rows(run_dir: Path) -> Iterator[dict[str, Any]]:
    try:
        with open_own_file(run_dir, LOG) as log:
            for line in log:
                row = loose_content_of(line)
                if row is not None and row.get("record_type") == "result":
                    yield row
    except (OSError, NotOwnFile):
        return


def _outcome(row: Mapping[str, Any]) -> _Outcome | None:
    if row.get("reused_from_run_id") is not None:
        return None
    passed, case_hash = row.get("passed"), row.get("case_hash")
    return _Outcome(
        case_hash if isinstance(case_hash, str) else None,
        passed if isinstance(passed, bool) else None,
        hash(str(row.get("raw_output"))) if row.get("success") is True else None,
    )


def _case(outcomes: Sequence[_Outcome]) -> ObservedCase:
    answers = [one.answer for one in outcomes if one.answer is not None]
    failed = any(one.answer is None and one.passed is not None for one in outcomes)
    return ObservedCase(
        outcomes[0].case_hash,
        sum(one.passed is not None for one in outcomes),
        sum(one.passed is True for one in outcomes),
        is_repeated=len(answers) > 1,
        is_identical=len(answers) > 1 and len(set(answers)) == 1 and not failed,
    )


def powers_of(
    sizes: Mapping[str, PlanSize], runs: Sequence[Mapping[str, ObservedRun]], limits: Thresholds
) -> tuple[PowerPlan, ...]:
    """Return what a plan shows of each model and what the margin of the thresholds would need.

    Runs are from `previous_outcomes`, newest first; there may be none yet.
    """
    return tuple(
        power_plan(
            (model_id,),
            assumptions_of(
                (run[model_id] for run in runs if model_id in run),
                size.clusters,
                margin=limits.pass_rate_margin,
            ),
            limits,
            n_cases=size.n_scorable_cases,
            repetitions=max(size.repetitions, 1),
        )
        for model_id, size in sizes.items()
    )


def powers_text(plans: Sequence[PowerPlan], limits: Thresholds) -> list[str]:
    """Return the same in words; models of which the same is known stand together."""
    lines = [line for plan in merged(plans) for line in power_lines(plan, limits)]
    return [*lines, *LETTERS]


def powers_json(plans: Sequence[PowerPlan]) -> list[dict[str, object]]:
    """Return the same for JSON, an object a model."""
    return [facts for plan in plans for facts in power_facts(plan)]


def detectable_drop(plans: Sequence[PowerPlan]) -> float | None:
    """Return the drop that is shown of whichever model drops by it; None when of some none is."""
    drops = [plan.smallest if plan.direction == "drop" else None for plan in plans]
    known = [drop for drop in drops if drop is not None]
    return max(known) if known and len(known) == len(drops) else None

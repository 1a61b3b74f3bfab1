"""What is new since the last run of a suite, trial by trial, and which part of it changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import orjson

from schemas.errors import NotOwnFile
from schemas.io.own_files import open_own_file, read_own
from schemas.run.config import FINGERPRINT_VERSION, PART_DIGITS, FingerprintParts, PlannedTrial

TrialKey = tuple[str, str, int]
"""(model_id, case_id, repetition)."""

Kind = Literal["same", "changed", "new"]

PARTS = tuple(FingerprintParts.model_fields)


class EarlierTrial(NamedTuple):
    """What a stored plan says of one trial; a tuple, since there are many."""

    fingerprint: str
    version: int
    parts: tuple[str | None, ...]
    """In the order of `PARTS`."""


@dataclass(frozen=True, slots=True)
class EarlierPlan:
    """The plan of an earlier run."""

    run_id: str
    trials: Mapping[TrialKey, EarlierTrial]


@dataclass(frozen=True, slots=True)
class TrialChange:
    """How one planned trial stands to the earlier run, and why."""

    key: TrialKey
    kind: Kind
    reasons: tuple[str, ...] = ()
    """Changed: names of the fingerprint parts that differ. New: what is new about it."""


@dataclass(frozen=True, slots=True)
class PlanChanges:
    """All trials of a plan against one earlier run."""

    since: str | None
    """run_id of the earlier run; None when there is none."""
    trials: tuple[TrialChange, ...]
    """In the plan's order."""
    removed: tuple[TrialKey, ...]
    """Trials of the earlier run that the plan no longer has."""

    def summary(self) -> str:
        """Return one line: `12 same; 4 changed: case; 8 new: repetition; 2 gone`."""
        counts = Counter((trial.kind, trial.reasons) for trial in self.trials)
        parts = [
            f"{count:,} {kind}" + (f": {' + '.join(why)}" if why else "")
            for wanted in get_args(Kind)
            for (kind, why), count in counts.most_common()
            if kind == wanted
        ]
        return "; ".join([*parts, f"{len(self.removed):,} gone"] if self.removed else parts)


def changes_since(earlier: EarlierPlan | None, plan: Iterable[PlannedTrial]) -> PlanChanges:
    """Return what is new in a plan; without an earlier one every trial is."""
    before: Mapping[TrialKey, EarlierTrial] = earlier.trials if earlier else {}
    models = {key[0] for key in before}
    cases = {key[1] for key in before}
    pairs = {key[:2] for key in before}

    def why_new(key: TrialKey) -> tuple[str, ...]:
        if not before:
            return ("first run",)
        absent = [
            name
            for name, part, known in (("model", key[0], models), ("case", key[1], cases))
            if part not in known
        ]
        if absent:
            return tuple(absent)
        return ("repetition",) if key[:2] in pairs else ("case of this model",)

    news = []
    seen = set()
    for trial in plan:
        key = (trial.model_id, trial.case_id, trial.repetition)
        seen.add(key)
        if (old := before.get(key)) is None:
            news.append(TrialChange(key, "new", why_new(key)))
        else:
            changed = _changed(old, trial)
            news.append(TrialChange(key, "changed" if changed else "same", changed))
    gone = tuple(key for key in before if key not in seen)
    return PlanChanges(earlier.run_id if earlier else None, tuple(news), gone)


def _changed(old: EarlierTrial, trial: PlannedTrial) -> tuple[str, ...]:
    """Return the names of the parts that differ, in the record's order."""
    if old.fingerprint == trial.run_fingerprint:
        return ()
    if old.version != FINGERPRINT_VERSION:
        return ("fingerprint version",)
    both = zip(PARTS, old.parts, strict=True)
    return tuple(name for name, part in both if part != _part(trial, name))


def _part(trial: PlannedTrial, name: str) -> str | None:
    """Return what is compared of a part."""
    part: str | None = getattr(trial.fingerprint_parts, name)
    return part and part[:PART_DIGITS]


def newest_first(runs_dir: Path, suite_id: str | None = None) -> dict[Path, str]:
    """Return the folders of runs, of one suite or of all, by when they started.

    One that lost its log is among them.

    Returns:
        The group of each folder: the shards of one plan share it, other runs are their own.
    """
    starts = []
    for path in runs_dir.glob("*/config.json"):
        try:
            config = orjson.loads(read_own(path.parent, path.name))
            started, group = int(config["started_at_ms"]), config.get("run_group")
        except (OSError, NotOwnFile, ValueError, KeyError, TypeError):
            continue  # no run of ours, or one that never began
        if suite_id in (None, config.get("suite_id")):
            starts.append((started, path.parent, str(group or path.parent.name)))
    return {run_dir: group for _, run_dir, group in sorted(starts, reverse=True)}


def earlier_plan(runs_dir: Path, suite_id: str) -> EarlierPlan | None:
    """Return the stored plan of the suite's newest run, or None when there is none.

    A run whose config.json or plan.jsonl is missing or broken is passed over.
    """
    for run_dir in newest_first(runs_dir, suite_id):
        try:
            return EarlierPlan(run_dir.name, _trials(run_dir))
        except (OSError, NotOwnFile, ValueError, KeyError, TypeError, AttributeError):
            continue
    return None


def _trials(run_dir: Path) -> dict[TrialKey, EarlierTrial]:
    """Return a stored plan, read line by line."""
    trials = {}
    with open_own_file(run_dir, "plan.jsonl") as file:
        for line in file:
            trial = PlannedTrial.model_validate_json(line)
            parts = tuple(_part(trial, name) for name in PARTS)
            old = EarlierTrial(trial.run_fingerprint, trial.fingerprint_version, parts)
            trials[trial.model_id, trial.case_id, trial.repetition] = old
    return trials

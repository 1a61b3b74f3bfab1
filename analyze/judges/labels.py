"""Labels of people: a CSV file of trials with what somebody says of each.

A label that is none of those allowed is an error and no disagreement, so that a typo never counts
against a judge.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from analyze.judges.opinions import TrialKey
from schemas.errors import ConfigError, Problem, nearest

VERDICTS: Mapping[str, bool] = {"pass": True, "fail": False}

REQUIRED = ("model_id", "case_id", "label")

COLUMNS = ("run_id", "model_id", "case_id", "repetition", "annotator", "label")
"""That mean something; others, such as an answer to look at, are left alone."""

ALLOWED = "pass, fail, or a score from 0 to 10"

MAX_PROBLEMS = 20

MAX_NAMED = 5
"""Names that are allowed, in a message."""

LabelKind = Literal["verdict", "score"]


@dataclass(frozen=True)
class Labels:
    """Labels of one file, all verdicts or all scores."""

    kind: LabelKind
    by_trial: Mapping[TrialKey, Mapping[str, float]]
    """Trial to annotator to label; a verdict is 1 or 0."""

    @property
    def annotators(self) -> list[str]:
        """Who labelled, sorted."""
        return sorted({name for said in self.by_trial.values() for name in said})

    def of(self, trials: Collection[TrialKey]) -> Labels:
        """Return those of some trials."""
        known = sorted(self.by_trial.keys() & set(trials))
        return Labels(self.kind, {trial: self.by_trial[trial] for trial in known})


def read_labels(path: Path, run_ids: Sequence[str], trials: Collection[TrialKey]) -> Labels:
    """Return the labels of a file.

    Args:
        path: a CSV file with a header; `run_id` may be left out where one run is asked about, a
            `repetition` that is left out is 1. Rows with an empty label are passed over.
        run_ids: that are asked about.
        trials: that these runs planned; a label of any other is an error.

    Raises:
        ConfigError: names each row, column, what is there and what may be.
    """
    rows = _rows(path)
    problems: list[Problem] = []
    found: defaultdict[TrialKey, dict[str, float]] = defaultdict(dict)
    kinds: dict[LabelKind, int] = {}
    for line, row in rows:
        said = _said(row)
        if said is None:
            problems.append(_problem(path, line, "label", row["label"], ALLOWED))
            continue
        if not row["label"].strip():
            continue
        trial = _trial(row, run_ids)
        if trial is None:
            one = row.get("repetition") or ""
            problems.append(_problem(path, line, "repetition", one, "a whole number from 1 on"))
        elif trial not in trials:
            problems.append(_unknown(path, line, trial, run_ids, trials))
        else:
            kind, value = said
            kinds.setdefault(kind, line)
            annotator = (row.get("annotator") or "").strip()
            if annotator in found[trial]:
                what = "labels a trial again that this annotator labelled"
                problems.append(Problem(path, what, line=line))
            found[trial][annotator] = value
    if len(kinds) > 1:
        line = max(kinds.values())
        problems.append(Problem(path, "verdicts and scores in one file", line=line))
    if not problems and not found:
        problems.append(Problem(path, "holds no label", allowed=ALLOWED))
    if problems:
        raise ConfigError(problems[:MAX_PROBLEMS])
    return Labels(next(iter(kinds)), found)


def runs_labelled(path: Path) -> list[str]:
    """Return the runs that a file of labels names, sorted.

    Raises:
        ConfigError: the file cannot be read.
    """
    return sorted({(row.get("run_id") or "").strip() for _, row in _rows(path)} - {""})


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            names = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = names
            missing = [name for name in REQUIRED if name not in names]
            if missing:
                what = f"column {missing[0]} is missing"
                raise ConfigError([Problem(path, what, line=1, allowed=", ".join(COLUMNS))])
            for row in reader:
                yield reader.line_num, {k: v or "" for k, v in row.items() if isinstance(k, str)}
    except (OSError, UnicodeDecodeError, csv.Error) as exc:
        raise ConfigError([Problem(path, f"cannot be read ({exc})")]) from exc


def _said(row: Mapping[str, str]) -> tuple[LabelKind, float] | None:
    text = row["label"].strip().lower()
    if not text:
        return "verdict", 0.0
    if text in VERDICTS:
        return "verdict", float(VERDICTS[text])
    try:
        value = float(text)
    except ValueError:
        return None
    return ("score", value) if 0 <= value <= 10 else None


def _trial(row: Mapping[str, str], run_ids: Sequence[str]) -> TrialKey | None:
    repetition = (row.get("repetition") or "").strip() or "1"
    if not repetition.isdecimal() or int(repetition) < 1:
        return None
    run_id = (row.get("run_id") or "").strip() or (run_ids[0] if len(run_ids) == 1 else "")
    return TrialKey(run_id, row["model_id"].strip(), row["case_id"].strip(), int(repetition))


def _unknown(
    path: Path,
    line: int,
    trial: TrialKey,
    run_ids: Sequence[str],
    trials: Collection[TrialKey],
) -> Problem:
    for name, allowed in (
        ("run_id", set(run_ids)),
        ("model_id", {one.model_id for one in trials if one.run_id == trial.run_id}),
        ("case_id", {one.case_id for one in trials if one.run_id == trial.run_id}),
    ):
        value = getattr(trial, name)
        if value not in allowed:
            few = ", ".join(sorted(allowed)[:MAX_NAMED])
            meant = nearest(value, sorted(allowed))
            return Problem(
                path,
                "is none of these runs",
                key=name,
                line=line,
                found=f"`{value}`",
                allowed=few + (", …" if len(allowed) > MAX_NAMED else ""),
                nearest=meant,
            )
    asked = ", ".join(str(one.repetition) for one in sorted(trials) if one[:3] == trial[:3])
    return _problem(path, line, "repetition", str(trial.repetition), asked or "none")


def _problem(path: Path, line: int, column: str, found: str, allowed: str) -> Problem:
    return Problem(
        path, "cannot be used", key=column, line=line, found=f"`{found}`", allowed=allowed
    )

"""Evaluations that personal_agent_eval made of a trial, and the one verdict that follows.

Its judge's scores decide nothing: no threshold of it was ever applied. What its deterministic
checks found does, and of those it keeps only how many there were.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import JsonValue

from analyze.importers.pae.files import Document, Evaluated, Profile, load
from schemas.base import Finding

FOLDER = re.compile(r"eval_profile_(.+)_([0-9a-f]+)")

MAX_DIMENSIONS = 32
MAX_SCORE = 1e9
MAX_CHECKS = 1_000_000


class Checks(NamedTuple):
    """How many deterministic checks came out how."""

    passed: int
    failed: int
    errored: int

    @property
    def verdict(self) -> bool:
        """Whether every one of them passed."""
        return not self.failed and not self.errored


NO_CHECKS = Checks(0, 0, 0)


@dataclass(frozen=True)
class Judged:
    """What the evaluations of one trial say together.

    Attributes:
        checks: of the evaluation that made the most; none where evaluations contradict each other.
        passed: whether all checks passed; None without any, or where evaluations contradict.
        evaluations: each of them, for `parsed_output`.
    """

    checks: Checks
    passed: bool | None
    evaluations: list[JsonValue]

    @property
    def parsed(self) -> JsonValue:
        """The same as `parsed_output` of a trial; null without any."""
        return {"evaluations": self.evaluations} if self.evaluations else None


class Evaluations:
    """Reads the evaluations of one run profile.

    Args:
        profile: where they lie.
        notes: takes what is found wrong; a file that is read twice would be noted twice.
    """

    def __init__(self, profile: Profile, notes: list[Finding]) -> None:
        self._sources = profile.sources
        self._place = "evaluations/" + profile.folder.parent.name + "/"
        if profile.evaluations is not None:
            self._place += profile.evaluations.name
        self._notes = notes
        self._known: dict[str, dict[str, JsonValue]] = {}

    def has_checks(self, run: Document, found: Iterable[Evaluated]) -> bool:
        """Return whether any evaluation of a run made deterministic checks."""
        unheard: list[Finding] = []
        finals = (load(self._sources[one.final], "", unheard) for one in found if one.final)
        return any(final and _is_of(final, run) and _checks(final) != NO_CHECKS for final in finals)

    def judged(self, run: Document, found: Sequence[Evaluated]) -> Judged:
        """Return what the evaluations of a run say."""
        rows: list[JsonValue] = []
        counted: list[Checks] = []
        for one in found:
            final = self._load(one)
            if final is not None and not _is_of(final, run):
                other = final.text("run_id")
                final.note("other_run", f"is of run {other!r}, made before this one", "run_id")
                continue
            checks = NO_CHECKS if final is None else _checks(final)
            if checks != NO_CHECKS:
                counted.append(checks)
            rows.append(self._row(one, final, checks))
        if len({checks.verdict for checks in counted}) > 1:
            run.note("contradiction", "its evaluations contradict each other; it has no verdict")
            counted = []
        most = max(counted, key=sum, default=NO_CHECKS)
        return Judged(most, most.verdict if counted else None, rows)

    def about(self) -> list[JsonValue]:
        """Return each evaluation's id and fingerprints, for the record of the import."""
        start = len(self._place.split("/"))
        inside = (name for name in self._sources if name.startswith(f"{self._place}/"))
        parts = (name.split("/") for name in inside)
        folders = sorted({one[start] for one in parts if len(one) > start + 1})
        return [{"folder": folder, **self._manifest(folder)} for folder in folders]

    def _load(self, one: Evaluated) -> Document | None:
        return None if one.final is None else load(self._sources[one.final], one.final, self._notes)

    def _row(self, one: Evaluated, final: Document | None, checks: Checks) -> JsonValue:
        known = self._manifest(one.folder)
        counts: JsonValue = None if final is None else _named(checks)
        return {
            "evaluation_profile_id": known["evaluation_profile_id"],
            "evaluation_fingerprint": known["evaluation_fingerprint"],
            "final_score": None if final is None else final.number("final_score", most=MAX_SCORE),
            "final_dimensions": None if final is None else _dimensions(final),
            "deterministic": counts,
        }

    def _manifest(self, folder: str) -> dict[str, JsonValue]:
        """Return the ids of an evaluation; what its manifest does not say, its folder's name."""
        if folder not in self._known:
            name = f"{self._place}/{folder}/manifest.json"
            path = self._sources.get(name)
            read = None if path is None else load(path, name, self._notes)
            manifest = read or Document(name, {}, self._notes)
            match = FOLDER.fullmatch(folder)
            by_name = match.groups() if match else (folder, None)
            self._known[folder] = {
                "evaluation_profile_id": manifest.text("evaluation_profile_id") or by_name[0],
                "evaluation_fingerprint": manifest.text("evaluation_fingerprint") or by_name[1],
            }
        return self._known[folder]


def _is_of(final: Document, run: Document) -> bool:
    """Return whether an evaluation is of this run: a run made anew keeps the number of its file."""
    mine, its = run.at("identity", "run_id"), final.at("run_id")
    return mine is None or its is None or mine == its


def _checks(final: Document) -> Checks:
    counts = (
        final.whole("summary", f"deterministic_{outcome}_checks", most=MAX_CHECKS) or 0
        for outcome in ("passed", "failed", "error")
    )
    return Checks(*counts)


def _named(checks: Checks) -> dict[str, JsonValue]:
    return {"passed": checks.passed, "failed": checks.failed, "error": checks.errored}


def _dimensions(final: Document) -> dict[str, JsonValue] | None:
    found: Any = final.at("final_dimensions")
    if not isinstance(found, Mapping):
        return None
    names = [name for name in found if len(name) <= 128][:MAX_DIMENSIONS]
    return {name: final.number("final_dimensions", name, most=MAX_SCORE) for name in names}

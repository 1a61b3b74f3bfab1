"""Which trial of another run, or of another model, a stored trial is held against."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from collect.config.resolved import LoadedCase
from collect.judges.pairs.pairing import OtherRun, PairJob
from collect.run_folder.latest_records import LinePlace, TrialKey, latest_records
from collect.run_folder.stored_inputs import CASES_FILE, read_cases
from collect.stored.inputs import EvaluateRequest, StoredCases, folder_of, noted, require_known
from schemas.errors import ConfigError, Problem
from schemas.run.config import load_run_config


@dataclass(frozen=True)
class Against:
    """What the trials of a run are held against."""

    run: OtherRun
    models: Mapping[str, str]
    """model_id of this run to that of the other one."""
    cases: frozenset[str]
    """That both were asked, in the same words."""
    notes: tuple[str, ...]

    def n_trials(self, places: Collection[TrialKey]) -> int:
        """Return how many trials of this run could have one on the other side."""
        return sum(model in self.models and case in self.cases for model, case, _ in places)

    def jobs(self, places: Mapping[TrialKey, LinePlace]) -> Iterator[PairJob]:
        """Yield the trials that have one of the same case and repetition on the other side.

        Args:
            places: of this run's trials.
        """
        wanted = set(self.models.values())
        others = latest_records(
            self.run.run_dir, lambda model_id, case_id: model_id in wanted and case_id in self.cases
        )
        for (model_id, case_id, repetition), place in places.items():
            if (other := self.models.get(model_id)) is not None:
                there = others.get((other, case_id, repetition))
                if there is not None:
                    yield PairJob(place, there)


def against_of(request: EvaluateRequest, found: StoredCases) -> Against | None:
    """Return what trials are held against; None: nothing, they are scored.

    Raises:
        RunNotFound: there is no such run.
        NotResumable: it does not say what it was made of.
        ConfigError: it has no such model, or nothing in common with this run.
    """
    if request.against is None:
        if request.against_model is not None:
            what = "there is no run that it is a model of"
            problem = Problem(None, what, "--against-model", advice="name one by --against")
            raise ConfigError([problem])
        return None
    run_dir = folder_of(request.runs_dir, request.against)
    config = load_run_config(run_dir / "config.json")
    theirs = [model.model_id for model in config.models]
    own = [model.model_id for model in found.config.models]
    asked_for = request.against_model
    if asked_for is not None:
        require_known("--against-model", (asked_for,), theirs)
    is_same = run_dir.resolve() == found.run_dir.resolve()
    models = {}
    for model_id in request.models or own:
        other = _other_model(model_id, asked_for, theirs, is_same=is_same)
        if other is not None:
            models[model_id] = other
    if not models:
        what = "no model of the run has one to be held against"
        raise ConfigError([
            Problem(
                None, what, "--against-model", allowed=", ".join(theirs), advice="name one of them"
            )
        ])  # fmt: skip
    stored = read_cases(run_dir / CASES_FILE)
    common = [case_id for case_id in found.cases if case_id in stored]
    other_words = [one for one in common if not _asks_the_same(found.stored[one], stored[one])]
    cases = frozenset(common) - set(other_words)
    if not cases:
        what = f"run {run_dir.name} was asked none of the same cases"
        raise ConfigError([Problem(None, what, "--against", advice="name another run")])
    gone = [one for one in found.cases if one not in stored]
    unpaired = [one for one in request.models or own if one not in models]
    notes = [*noted(gone, "the other run was not asked it: it is left out")]
    notes += noted(other_words, "asked the other run something else: it is left out")
    notes += (f"model {one}: has no other to be held against: it is left out" for one in unpaired)
    return Against(OtherRun(run_dir, asked_for), models, cases, tuple(notes))


def _other_model(
    model_id: str, asked_for: str | None, theirs: Collection[str], *, is_same: bool
) -> str | None:
    """Return the model on the other side: the one asked for, of the same name, or the only one."""
    if asked_for is not None:
        return None if is_same and asked_for == model_id else asked_for
    if is_same:
        return None
    if model_id in theirs:
        return model_id
    return next(iter(theirs)) if len(theirs) == 1 else None


def _asks_the_same(one: LoadedCase, two: LoadedCase) -> bool:
    return (one.messages, one.turns, one.attachments) == (two.messages, two.turns, two.attachments)

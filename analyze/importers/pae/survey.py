"""A first look at every run file of a run profile: what must be known before one line is written.

When it began, which trials the tool knows of and has no result for, and which cases there is
anything to judge by. A second look makes the lines, so that no more than one trial is in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from analyze.importers.pae.evaluations import Evaluations
from analyze.importers.pae.files import Document, Key, Profile, load
from analyze.importers.pae.result import UNKNOWN, Asked, asked_of, started_at
from schemas.base import Finding, error, warning
from schemas.run.import_record import UnfinishedTrial

MOST_REPETITIONS = 10_000
"""A manifest that says more is not believed."""


@dataclass(frozen=True)
class Survey:
    """What the files of a run profile say together.

    Attributes:
        manifest: of the run profile; empty when it is missing.
        judged_cases: with deterministic checks that some evaluation made.
    """

    manifest: Document
    readable: tuple[Key, ...]
    started_at_ms: int | None
    judged_cases: frozenset[str]
    unfinished: tuple[UnfinishedTrial, ...]


def survey(
    profile: Profile,
    evaluations: Evaluations,
    notes: list[Finding],
    tell: Callable[[], None],
) -> Survey:
    """Look at every file of a run profile.

    Args:
        profile: where they lie.
        evaluations: of it.
        notes: takes what is found wrong with the manifests, and files that cannot be read.
        tell: is called once a run file.
    """
    manifest = _manifest(profile, notes)
    runs, evaluated = profile.runs, profile.evaluated
    asked: dict[Key, Asked] = {}
    starts: list[int] = []
    readable: list[Key] = []
    judged: set[str] = set()
    for key, name in runs.items():
        run = load(profile.sources[name], name, notes)
        tell()
        if run is None:
            continue
        quiet = Document(name, run.data, [])  # its values are noted when the line is made
        readable.append(key)
        asked[key] = asked_of(quiet, key.model)
        if (begin := started_at(quiet)) is not None:
            starts.append(begin)
        if key.case not in judged and evaluations.has_checks(quiet, evaluated.get(key, ())):
            judged.add(key.case)
    known = _known(profile, manifest, notes) - set(readable)
    missing = _Missing(profile, asked)
    return Survey(
        manifest=manifest,
        readable=tuple(readable),
        started_at_ms=min(starts, default=None),
        judged_cases=frozenset(judged),
        unfinished=tuple(missing.trial(key) for key in sorted(known)),
    )


def _manifest(profile: Profile, notes: list[Finding]) -> Document:
    name = f"runs/{profile.name}/manifest.json"
    if name not in profile.sources:
        what = f"{name}: is missing; what is known is what the folders are called"
        notes.append(warning("manifest_missing", "", what))
        return Document(name, {}, notes)
    manifest = load(profile.sources[name], name, notes) or Document(name, {}, notes)
    suite = manifest.text("suite_id")
    if suite is not None and suite != profile.suite:
        what = f"names the suite {suite!r} in the folder of {profile.suite!r}; the folder counts"
        manifest.note("contradiction", what, "suite_id")
    return manifest


def _known(profile: Profile, manifest: Document, notes: list[Finding]) -> set[Key]:
    """Return every trial that the tool knows of: planned, asked or evaluated."""
    runs, evaluated = profile.runs, profile.evaluated
    planned = manifest.whole("run_repetitions", least=1, most=MOST_REPETITIONS) or 0
    known = set(runs)
    for (model, case), name in profile.cases().items():
        listed = 0
        path = profile.sources.get(name)
        if path is not None and (of_case := load(path, name, notes)) is not None:
            iterations = of_case.at("iterations")
            indices = [
                one.get("repetition_index")
                for one in (iterations if isinstance(iterations, list) else [])
                if isinstance(one, dict)
            ]
            inside = (n for n in indices if type(n) is int and 0 <= n < MOST_REPETITIONS)
            listed = 1 + max(inside, default=-1)
        known |= {Key(model, case, n) for n in range(1, max(planned, listed) + 1)}
    lost: defaultdict[str, list[Key]] = defaultdict(list)
    for key in sorted(set(evaluated) - set(runs)):
        lost[key.case].append(key)
    for case, keys in lost.items():  # each case once, however many models and repetitions
        which = "its run file is" if len(keys) == 1 else f"{len(keys):,} run files are"
        what = f"{case}: is evaluated, and {which} missing ({'/'.join(map(str, keys[0]))}"
        also = f" and {len(keys) - 1:,} more)" if len(keys) > 1 else ")"
        notes.append(error("run_missing", "", what + also))
    return known | set(evaluated)


class _Missing:
    """Says who would have been asked: as the model was otherwise, through the gateway of the case.

    Args:
        profile: whose trials are missing.
        asked: who was asked in those that are there.
    """

    def __init__(self, profile: Profile, asked: dict[Key, Asked]) -> None:
        self._profile = profile
        self._models = {key.model: one.model for key, one in asked.items()}
        self._providers = {key.model: one.provider for key, one in asked.items()}
        self._providers_of_cases = {key.case: one.provider for key, one in asked.items()}

    def trial(self, key: Key) -> UnfinishedTrial:
        provider = self._providers_of_cases.get(key.case) or self._providers.get(key.model)
        return UnfinishedTrial(
            model_id=self._profile.model_ids[key.model],
            case_id=self._profile.case_ids[key.case],
            repetition=key.repetition,
            provider=provider or UNKNOWN,
            model=self._models.get(key.model, key.model),
            prompt_id=key.case,
        )

"""Runs and evaluations of personal_agent_eval: one run folder for each run profile of each suite.

The originals are kept unchanged below `source/`, evaluations, prompts and workspaces included.

A first look at every run file tells what must be known before one line is written: when the profile
began, which trials the tool knows of and has no result for, and which cases there is anything to
judge by. A second look makes the lines, so that no more than one trial is in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from analyze.importers import FileProgress, Importer, ImportRequest
from analyze.importers.base import Traced, Written, new_record, run_id_of, write_run
from analyze.importers.defaults import file_moment, slug_of
from analyze.importers.originals import SourceChanged
from analyze.importers.pae.evaluations import Evaluations
from analyze.importers.pae.files import Document, Key, Profile, load, profiles_at
from analyze.importers.pae.result import (
    UNKNOWN,
    RequestedModel,
    Trial,
    requested_model_of,
    started_at,
    traced_of,
)
from schemas.base import Finding, error, warning
from schemas.errors import ConfigError, Problem
from schemas.run.import_record import ImportRecord, UnfinishedTrial

MAX_REPETITIONS = 10_000
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
    progress: Callable[[], None],
) -> Survey:
    """Look at every file of a run profile.

    Args:
        profile: where they lie.
        evaluations: of it.
        notes: takes what is found wrong with the manifests, and files that cannot be read.
        progress: is called once a run file.
    """
    manifest = _manifest(profile, notes)
    runs, evaluated = profile.runs, profile.evaluated
    asked: dict[Key, RequestedModel] = {}
    starts: list[int] = []
    readable: list[Key] = []
    judged: set[str] = set()
    for key, name in runs.items():
        run = load(profile.sources[name], name, notes)
        progress()
        if run is None:
            continue
        quiet = Document(name, run.data, [])  # its values are noted when the line is made
        readable.append(key)
        asked[key] = requested_model_of(quiet, key.model)
        if (begin := started_at(quiet)) is not None:
            starts.append(begin)
        if key.case not in judged and evaluations.has_checks(quiet, evaluated.get(key, ())):
            judged.add(key.case)
    known = _known_trials(profile, manifest, notes) - set(readable)
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


def _known_trials(profile: Profile, manifest: Document, notes: list[Finding]) -> set[Key]:
    """Return every trial that the tool knows of: planned, asked or evaluated."""
    runs, evaluated = profile.runs, profile.evaluated
    planned = manifest.whole("run_repetitions", least=1, most=MAX_REPETITIONS) or 0
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
            inside = (n for n in indices if type(n) is int and 0 <= n < MAX_REPETITIONS)
            listed = 1 + max(inside, default=-1)
        known |= {Key(model, case, n) for n in range(1, max(planned, listed) + 1)}
    lost: defaultdict[str, list[Key]] = defaultdict(list)
    for key in sorted(set(evaluated) - set(runs)):
        lost[key.case].append(key)
    for case, keys in lost.items():  # each case once, however many models and repetitions
        subject = "its run file is" if len(keys) == 1 else f"{len(keys):,} run files are"
        what = f"{case}: is evaluated, and {subject} missing ({'/'.join(map(str, keys[0]))}"
        also = f" and {len(keys) - 1:,} more)" if len(keys) > 1 else ")"
        notes.append(error("run_missing", "", what + also))
    return known | set(evaluated)


class _Missing:
    """Says who would have been asked: as the model was otherwise, through the gateway of the case.

    Args:
        profile: whose trials are missing.
        asked: who was asked in those that are there.
    """

    def __init__(self, profile: Profile, asked: dict[Key, RequestedModel]) -> None:
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


def import_pae(
    path: Path, runs_dir: Path, progress: FileProgress | None = None, run_id: str | None = None
) -> list[Written]:
    """Import every run profile at a place.

    One that cannot be written does not keep the others from it.

    Args:
        path: `outputs/`, a workspace that holds it, or one `run_profile_` folder.
        runs_dir: where runs are kept.
        progress: is told of the work.
        run_id: name of the run folder, where there is one run profile; else they are called
            `pae_<suite>_<fp6>`.

    Raises:
        ConfigError: there is nothing of that tool, or a run by the same name was made otherwise.
        SourceChanged: a file was written to meanwhile.
        OSError: a file cannot be read, or the folder not be written.
    """
    profiles = profiles_at(path)
    if run_id is not None and len(profiles) > 1:
        what = f"--run-id names one run, and there are {len(profiles)}; give one folder of them"
        raise ConfigError([Problem(path, what, found=", ".join(one.name for one in profiles))])
    # each run file is looked at twice
    steps = _Steps(progress, 2 * sum(len(one.runs) for one in profiles))
    written: list[Written] = []
    problems: list[Problem] = []
    for profile in profiles:
        try:
            written.append(_Import(profile, steps).written(runs_dir, run_id))
        except ConfigError as exc:
            problems += exc.problems
    if problems:
        raise ConfigError(problems)
    return written


class _Steps:
    """Counts files.

    Args:
        progress: is told.
        total: there will be.
    """

    def __init__(self, progress: FileProgress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


class _Import:
    """Makes one run folder of one run profile.

    Args:
        profile: where its files lie.
        tell: is called once a file that was looked at.
    """

    def __init__(self, profile: Profile, progress: Callable[[], None]) -> None:
        self._profile = profile
        self._tell = progress
        self._notes: list[Finding] = [*profile.left_out]
        self._evaluations = Evaluations(profile, self._notes)

    def written(self, runs_dir: Path, run_id: str | None) -> Written:
        """Write the folder."""
        seen = survey(self._profile, self._evaluations, self._notes, self._tell)
        record = self._record(seen, run_id)
        done = write_run(runs_dir, record, self._results(record, seen), self._profile.sources)
        return replace(done, findings=tuple(self._notes))

    def _record(self, seen: Survey, run_id: str | None) -> ImportRecord:
        profile = self._profile
        return new_record(
            sources=profile.sources,
            run_id=run_id or run_id_of(f"pae_{profile.suite[:100]}_{profile.fingerprint}"),
            source_format="pae",
            source_name=profile.name,
            suite_id=slug_of(profile.suite),
            suite_title=profile.suite,
            started_at_ms=seen.started_at_ms,
            unfinished=seen.unfinished,
            scorable=bool(seen.judged_cases),
            leftover={
                "run_profile_id": seen.manifest.text("run_profile_id"),
                "run_profile_fingerprint": seen.manifest.text("run_profile_fingerprint"),
                "evaluations": self._evaluations.about(),
            },
        )

    def _results(self, record: ImportRecord, seen: Survey) -> Iterator[Traced]:
        """Yield every trial, one after the other in memory."""
        for key in seen.readable:
            name = self._profile.runs[key]
            path = self._profile.sources[name]
            run = load(path, name, self._notes)
            self._tell()
            if run is None:
                raise SourceChanged(path)
            trial = Trial(
                run_id=record.run_id,
                suite_id=record.suite_id,
                model_id=self._profile.model_ids[key.model],
                case_id=self._profile.case_ids[key.case],
                key=key,
                written_at_ms=file_moment(path),
                has_checks=key.case in seen.judged_cases,
            )
            case = run.text("identity", "case_id")
            if case is not None and case != key.case:
                what = f"names the case {case!r} in the folder of {key.case!r}; the folder counts"
                run.note("contradiction", what, "identity", "case_id")
            evaluated = self._profile.evaluated.get(key, ())
            yield traced_of(run, trial, self._evaluations.judged(run, evaluated))


def _run(asked: ImportRequest) -> list[Written]:
    return import_pae(asked.path, asked.runs_dir, asked.progress, asked.run_id)


def _detect(path: Path) -> bool:
    """Return whether a folder holds runs of personal_agent_eval, or is one of their profiles."""
    try:
        return path.is_dir() and bool(profiles_at(path))
    except (ConfigError, OSError):
        return False


IMPORTER = Importer(frozenset({"--run-id"}), _run, _detect)

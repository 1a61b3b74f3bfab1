"""Runs and evaluations of personal_agent_eval: one run folder for each run profile of each suite.

The originals are kept unchanged below `source/`, evaluations, prompts and workspaces included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from analyze.importers.base import Traced, Written, new_record, run_id_of, write_run
from analyze.importers.defaults import file_moment, slug_of
from analyze.importers.originals import SourceChanged
from analyze.importers.pae.evaluations import Evaluations
from analyze.importers.pae.files import Profile, load, profiles_at
from analyze.importers.pae.result import Trial, traced_of
from analyze.importers.pae.survey import Survey, survey
from schemas.base import Finding
from schemas.errors import ConfigError, Problem
from schemas.run.import_record import ImportRecord

Tell = Callable[[int, int], None]
"""Is told how many files of all are done; each run file is looked at twice."""


def import_pae(
    path: Path, runs_dir: Path, progress: Tell | None = None, run_id: str | None = None
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

    def __init__(self, progress: Tell | None, total: int) -> None:
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

    def __init__(self, profile: Profile, tell: Callable[[], None]) -> None:
        self._profile = profile
        self._tell = tell
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

"""Logs of Inspect, `.eval` and `.json`, read without its package: a log is a run, a sample a trial.

A first look tells what must be known before a line is written: which samples there are, which score
decides and whether all its values are verdicts. That look is at the summaries where a log has them.
Then each sample is read and written, so that no more than one is in memory.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analyze.importers import FileProgress, Importer, ImportRequest
from analyze.importers.base import Written, new_record, run_id_of, write_run
from analyze.importers.defaults import file_moment, slug_of, slugs_of
from analyze.importers.inspect.files import holds_logs, is_log, logs_at
from analyze.importers.inspect.head import (
    headlines_of,
    leftover_of,
    provider_of,
    request_of,
    started_at,
    thinking_level_of,
)
from analyze.importers.inspect.log import Log, open_log, opened
from analyze.importers.inspect.row import MAX_EPOCHS, Notes, Place, packed_of
from analyze.importers.inspect.samples import Entry, SampleError
from analyze.importers.inspect.scores import headline_column, number_of, scores_of, values_of
from analyze.importers.inspect.values import Json, mapping, rows, words
from analyze.importers.inspect.workers import Job, LineMakers, Made
from analyze.importers.lines import Packed
from schemas.base import Finding, error, warning
from schemas.errors import ConfigError, Problem
from schemas.run.import_record import UnfinishedTrial

MAX_PLANNED = 1_000_000
"""A head that plans more samples is not believed."""

MAX_AHEAD = 8
"""Logs that are open at a time."""

MAX_SHOWN = 20
"""Samples that findings name one by one."""

Key = tuple[str, int]


def import_inspect(
    path: Path, runs_dir: Path, progress: FileProgress | None = None, run_id: str | None = None,
    suite_id: str | None = None,
) -> list[Written]:  # fmt: skip
    """Import every log at a place; one that cannot be read does not keep the others from it.

    Args:
        path: a log, or a folder of logs.
        runs_dir: where runs are kept.
        progress: is told how many logs are done.
        run_id: name of the run folder, where there is one log; else `<task>_<eval_id>`.
        suite_id: in the place of the task's name.

    Raises:
        ConfigError: there is no log, or none that could be read; or one has a name that is taken.
        SourceChanged: a log was written to meanwhile.
        OSError: a file cannot be read, or a folder not be written.
    """
    found = logs_at(path)
    if run_id is not None and len(found.logs) > 1:
        what = f"--run-id names one run, and there are {len(found.logs):,} logs; give one of them"
        raise ConfigError([Problem(path, what)])
    written: dict[str, Written] = {}
    problems: list[Problem] = []
    logs = _by_fullness(found.logs, problems)
    with (
        LineMakers(sum(log.stat().st_size for log in logs)) as makers,
        contextlib.closing(_imports(logs, runs_dir, makers, run_id, suite_id)) as imports,
    ):
        for n_done, (log, one) in enumerate(imports, 1):
            try:
                if isinstance(one, ConfigError):
                    raise one
                if one.run_id in written:
                    written[one.run_id] = _with_duplicate(written[one.run_id], log)
                else:
                    written[one.run_id] = one.written(runs_dir)
            except ConfigError as exc:
                problems += exc.problems
            if progress is not None:
                progress(n_done, len(found.logs))
    if problems and not written:
        raise ConfigError(problems)
    refused = tuple(error("not_imported", "", str(ConfigError([one]))) for one in problems)
    done = list(written.values())
    return [replace(done[0], findings=(*found.findings, *refused, *done[0].findings)), *done[1:]]


def _imports(
    logs: Sequence[Path], runs_dir: Path, makers: LineMakers, run_id: str | None,
    suite_id: str | None,
) -> Generator[tuple[Path, _Import | ConfigError]]:  # fmt: skip
    """Yield the import of each log, in order, or why it is none; it is open until the next one.

    As long as processes have room, the logs after it are opened and begun as well.
    """
    left = deque(logs)
    ahead: deque[tuple[Path, _Import | ConfigError]] = deque()
    run_ids: set[str] = set()
    try:
        while left or ahead:
            while left and (not ahead or (len(ahead) < MAX_AHEAD and makers.has_room)):
                if ahead and left[0].suffix != ".eval":
                    break  # a log that is JSON is in memory whole
                path = left.popleft()
                one = _opened(path, makers, run_id, suite_id)
                ahead.append((path, one))
                if isinstance(one, _Import):
                    is_there = one.run_id in run_ids or os.path.lexists(runs_dir / one.run_id)
                    one.read(begin=not is_there)
                    run_ids.add(one.run_id)
            yield ahead[0]
            _close(ahead.popleft()[1])
    finally:
        for _, one in ahead:
            _close(one)


def _opened(
    path: Path, makers: LineMakers, run_id: str | None, suite_id: str | None
) -> _Import | ConfigError:
    try:
        log = open_log(path)
    except ConfigError as exc:
        return exc
    return _Import(path, log, makers, run_id, suite_id)


def _close(one: _Import | ConfigError) -> None:
    if isinstance(one, _Import):
        one.close()


def _by_fullness(logs: tuple[Path, ...], problems: list[Problem]) -> list[Path]:
    """Return logs in order of their paths, of the same eval the fullest first."""
    if len(logs) == 1:
        return [*logs]
    facts: dict[Path, tuple[Any, ...]] = {}
    first: dict[str, int] = {}
    for place, path in enumerate(logs):
        try:
            with opened(path) as log:
                run_id = run_id_of_log(log.header)
                order = first.setdefault(run_id, place)
                is_whole = log.header.get("status") == "success"
                facts[path] = order, -len(log.entries), not is_whole, path
        except ConfigError as exc:
            problems += exc.problems
    return sorted(facts, key=lambda path: facts[path])


def _with_duplicate(written: Written, log: Path) -> Written:
    message = f"{log.name} holds the same eval as {written.run_dir.name}, and no more; left out"
    return replace(written, findings=(*written.findings, warning("same_eval", "", message)))


def run_id_of_log(header: Json) -> str:
    """Return the name of a log's run: its task and its eval, which old logs name otherwise."""
    spec = mapping(header.get("eval"))
    names = [words(spec.get("eval_id"))]
    if names[0] is None:
        names = [words(spec.get(one)) for one in ("run_id", "task_id", "created", "model")]
    task = str(spec["task"]).rpartition("/")[2]
    return run_id_of("_".join([task[:80], *filter(None, names)]))


class _Import:
    """Makes a run folder of one log.

    Args:
        path: of the log.
        log: that is open; `close` closes it.
        makers: make its lines.
        run_id: in the place of the log's own.
        suite_id: in the place of the task's name.
    """

    def __init__(
        self, path: Path, log: Log, makers: LineMakers, run_id: str | None, suite_id: str | None
    ) -> None:
        self._path = path
        self._log = log
        self._makers = makers
        self._spec = mapping(log.header.get("eval"))
        self._findings: list[Finding] = []
        self._notes = Notes()
        self._model = words(self._spec.get("model")) or "unknown"
        self.run_id = run_id or run_id_of_log(log.header)
        self._suite_id = suite_id or slug_of(str(self._spec["task"]))
        self._model_id = slug_of(self._model)
        self._column: str | None = None
        """Score that decides, as far as it is known."""
        self._decided: dict[Key, Any] = {}
        """What that score is, of samples with a summary: more of these would fill the memory."""
        self._lines: Iterator[Made] | None = None

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def read(self, *, begin: bool) -> None:
        """Read which samples there are.

        Args:
            begin: their lines are begun as well, for a run that is not there yet.
        """
        if begin:
            self._makers.start()
        self._entries = self._believed(self._log.entries)
        self._there = {(one.sample_id, one.epoch) for one in self._entries}
        for key, summary in self._summaries():
            self._decided[key] = self._decided_of(scores_of(summary))
        self._planned = self._plan()
        known = (sample_id for sample_id, _ in (*self._there, *self._planned, *self._decided))
        self._case_ids = slugs_of(sorted(set(known)))
        self._place = self._place_of()
        if begin:
            self._lines = self._begun()

    def written(self, runs_dir: Path) -> Written:
        """Write the folder."""
        source = {self._path.name: self._path}
        known = self._there | self._decided.keys()
        missing = [key for key in self._planned if key not in known]
        record = new_record(
            sources=source,
            run_id=self.run_id,
            source_format="inspect",
            source_name=self._path.name,
            suite_id=self._suite_id,
            suite_title=words(self._spec.get("task_display_name")) or str(self._spec["task"]),
            started_at_ms=started_at(self._log.header),
            unfinished=tuple(self._unfinished(key) for key in missing),
            headlines=tuple(headlines_of(self._log.header, self._model_id)),
            leftover=leftover_of(self._log.header),
        )
        done = write_run(runs_dir, record, self._results(), source, growth=True)
        self._note_values()
        return replace(done, findings=tuple(self._findings))

    def _believed(self, entries: tuple[Entry, ...]) -> list[Entry]:
        wrong = [one for one in entries if not 1 <= one.epoch <= MAX_EPOCHS]
        for one in wrong[:MAX_SHOWN]:
            what = f"{one.sample_id!r:.100}: epoch {one.epoch}, of 1 to {MAX_EPOCHS:,}; left out"
            self._findings.append(error("bad_epoch", "", what))
        return [one for one in entries if 1 <= one.epoch <= MAX_EPOCHS]

    def _summaries(self) -> Iterator[tuple[Key, Json]]:
        """Yield summaries by sample; of several of one sample the last counts."""
        for one in self._log.summaries():
            sample_id, epoch = one.get("id"), one.get("epoch")
            if isinstance(sample_id, str | int) and type(epoch) is int and 1 <= epoch <= MAX_EPOCHS:
                yield (str(sample_id), epoch), one

    def _decided_of(self, scores: Json) -> Any:
        if self._column is None and scores:
            self._column = headline_column(self._log.header, scores)
        return next((value for name, value in values_of(scores) if name == self._column), None)

    def _plan(self) -> dict[Key, None]:
        dataset, config = mapping(self._spec.get("dataset")), mapping(self._spec.get("config"))
        ids = [str(one) for one in rows(dataset.get("sample_ids")) if isinstance(one, str | int)]
        epochs = config.get("epochs")
        n_epochs = epochs if type(epochs) is int and epochs >= 1 else 1
        if len(ids) * n_epochs > MAX_PLANNED:
            what = (
                f"plans {len(ids) * n_epochs:,} samples, of at most {MAX_PLANNED:,}; not believed"
            )
            self._findings.append(warning("plan_too_large", "/eval/config/epochs", what))
            return {}
        return {(one, epoch): None for epoch in range(1, n_epochs + 1) for one in ids}

    def _unfinished(self, key: Key) -> UnfinishedTrial:
        return UnfinishedTrial(
            model_id=self._model_id,
            case_id=self._case_ids[key[0]],
            repetition=key[1],
            provider=provider_of(self._model),
            model=self._model,
            thinking_level=thinking_level_of(self._log.header),
            prompt_id=key[0],
        )

    def _place_of(self) -> Place:
        begin = started_at(self._log.header)
        is_verdict = self._is_verdict()  # without summaries this finds the column, too
        return Place(
            run_id=self.run_id,
            suite_id=self._suite_id,
            model_id=self._model_id,
            provider=provider_of(self._model),
            model=self._model,
            thinking_level=thinking_level_of(self._log.header),
            started_at_ms=file_moment(self._path) if begin is None else begin,
            request=request_of(self._log.header),
            column=self._column,
            is_verdict=is_verdict,
        )

    def _begun(self) -> Iterator[Made]:
        jobs = [Job(entry, self._case_ids[entry.sample_id]) for entry in self._entries]
        return self._makers.begin(self._log, jobs, self._place, self._notes)

    def _results(self) -> Iterator[Packed]:
        """Yield every sample, one after the other in memory; then those that only a summary has."""
        left = self._decided.keys() - self._there
        for made in self._begun() if self._lines is None else self._lines:
            if made.packed is not None:
                yield made.packed
                continue
            key = made.entry.sample_id, made.entry.epoch
            self._refuse(made.entry, made.why, key in self._decided)
            left |= {key} & self._decided.keys()
        if left:
            found = {key: summary for key, summary in self._summaries() if key in left}
            for key, summary in found.items():
                yield packed_of(summary, self._case_ids[key[0]], key, self._place, self._notes)

    def _refuse(self, entry: Entry, why: str, is_summed_up: bool) -> None:
        also = "its summary stands for it" if is_summed_up else "left out"
        what = f"{entry.sample_id!r:.100}, epoch {entry.epoch}: {why}; {also}"
        self._findings.append(error("sample_unreadable", "", what))

    def _is_verdict(self) -> bool:
        """Return whether all values of the score that decides are verdicts."""
        for entry in self._entries:
            if (entry.sample_id, entry.epoch) in self._decided:
                continue
            with contextlib.suppress(SampleError):
                value = self._decided_of(scores_of(self._log.sample(entry)))
                if not _is_verdict(value):
                    return False
        return self._column is not None and all(map(_is_verdict, self._decided.values()))

    def _note_values(self) -> None:
        for name, count in self._notes.values.items():
            what = f"{count:,} values are no number ({self._notes.shown[name]} for one): not scored"
            message = f"{name}: {what}; Inspect counts each as 0"
            self._findings.append(warning("score_not_a_number", "", message))


def _is_verdict(value: Any) -> bool:
    try:
        return number_of(value) in {None, 0.0, 1.0}
    except (ValueError, OverflowError):
        return False


def _run(asked: ImportRequest) -> list[Written]:
    return import_inspect(asked.path, asked.runs_dir, asked.progress, asked.run_id, asked.suite_id)


def _detect(path: Path) -> bool:
    """Return whether a file is a log of Inspect, or logs lie directly in a folder."""
    return holds_logs(path) if path.is_dir() else is_log(path)


IMPORTER = Importer(frozenset({"--run-id", "--suite"}), _run, _detect, takes_all_below=True)

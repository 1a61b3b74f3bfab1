"""Results of lm-evaluation-harness: a document of a task is a trial, and a file of results a run.

The numbers of a task are means over its documents, so without samples there are no trials. Every
score of every filter stands in a trial's `scores`; one of them is its verdict, and the findings say
which. Documents that a limit left out were never planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from analyze.importers import Importer, ImportRequest, base
from analyze.importers.defaults import file_moment, moment_of, slug_of, slugs_of
from analyze.importers.detect import head_of
from analyze.importers.lenient import free, number, object_in, text
from analyze.importers.lm_eval.files import (
    Samples,
    is_results_name,
    read_results,
    read_samples,
    results_files,
    samples_of,
    stamp_of,
    tasks_of,
)
from analyze.importers.lm_eval.sample import Place, requests_of, traced_of
from analyze.importers.lm_eval.verdict import (
    Deciding,
    deciding_of,
    headlines_of,
    metrics_of,
    split_name,
)
from schemas.base import Finding, bounded_slug, pointer, warning
from schemas.errors import ConfigError, Problem, counted
from schemas.redact import redact, redact_json
from schemas.run.import_record import ImportRecord, UnfinishedTrial

FORMAT = "lm-eval"

LEFTOVER = (
    "config", "versions", "n-shot", "n-samples", "higher_is_better", "group_subtasks",
    "task_hashes", "git_hash", "upper_git_hash", "lm_eval_version", "transformers_version", "date",
    "system_instruction", "system_instruction_sha", "fewshot_as_multiturn", "chat_template",
    "chat_template_sha", "total_evaluation_time_seconds", "model_source", "model_name",
)  # fmt: skip
"""Of the file of results, that are kept beside the trials."""

MAX_MISSING = 100_000
"""Documents of one task that are named as missing."""

MAX_NAMED = 5
"""Tasks that one warning names."""

NO_SAMPLES = (
    "evaluate again with `--log_samples`, which writes samples_<task>_<time>.jsonl beside it"
)


class _Source:
    """A file of results with its samples."""

    def __init__(self, path: Path, asked: ImportRequest) -> None:
        self.path = path
        self.results = results = read_results(path)
        self.tasks = tasks_of(results)
        self.files = samples_of(path, self.tasks)
        self.samples = {task: read_samples(file) for task, file in self.files.items()}
        if not any(one.docs for one in self.samples.values()):
            what = "has no samples beside it, and without them there are no trials to import"
            raise ConfigError([Problem(path, what, advice=NO_SAMPLES)])
        self._asked = asked
        self.model = self._model()
        self.model_id = slug_of(self.model)
        self.suite_id = asked.suite_id or slug_of(self.suite_title)
        stamp = stamp_of(path) or text(results.get("date")) or ""
        self.run_id = asked.run_id or base.run_id_of(f"{self.model}_{stamp}".rstrip("_"))
        self._task_ids = slugs_of(self.tasks)
        self.deciding: dict[str, Deciding] = {
            task: deciding_of(results, task, one) for task, one in self.samples.items() if one.docs
        }

    def _model(self) -> str:
        """Return the name of the model as far as the file says it."""
        named = self.results.get("model_name")
        if isinstance(named, str) and named:
            return redact(named)
        given = object_in(self.results, "config").get("model_args")
        pairs = given if isinstance(given, dict) else _pairs(text(given))
        for key in ("model", "pretrained", "path"):
            if isinstance(pairs.get(key), str) and pairs[key]:
                return redact(str(pairs[key]))
        return redact(text(object_in(self.results, "config").get("model"))) or "unknown"

    @property
    def provider(self) -> str:
        """How the model was reached, as `hf` or `local-completions`."""
        config = object_in(self.results, "config")
        for named in (self.results.get("model_source"), config.get("model")):
            if isinstance(named, str) and named:
                return redact(named)
        return FORMAT

    @cached_property
    def suite_title(self) -> str:
        """The only task, the only group over all tasks, else the names of all tasks."""
        if len(self.tasks) == 1:
            return self.tasks[0]
        held = self.groups
        over_all = [one for one in held if all(task in held[one] for task in self.tasks)]
        return over_all[0] if len(over_all) == 1 else "_".join(sorted(self.tasks))

    @cached_property
    def groups(self) -> dict[str, set[str]]:
        """The tasks below each group, those of groups within it too."""
        below = {
            name: [one for one in names if isinstance(one, str)]
            for name, names in object_in(self.results, "group_subtasks").items()
            if isinstance(names, list) and names
        }
        found = {}
        for name in below:
            waiting, seen = [name], set[str]()
            while waiting:
                one = waiting.pop()
                if one not in seen:
                    seen.add(one)
                    waiting += below.get(one, [])
            found[name] = seen & set(self.tasks)
        return found

    @cached_property
    def started_at_ms(self) -> int | None:
        """When the evaluation began: `date`, else the time in the file's name."""
        began = number(self.results.get("date"))
        if began is not None and 0 <= began < 2**43 / 1000:
            return int(began * 1000)
        stamp = stamp_of(self.path)
        if stamp is None:
            return None
        day, _, clock = stamp.partition("T")
        return moment_of(f"{day}T{clock.replace('-', ':')}")

    def case_id(self, task: str, doc_id: int) -> str:
        """Return the id of a document's case: the same in every run of the task."""
        return bounded_slug(f"{self._task_ids[task]}_{doc_id}", f"{task}_{doc_id}")

    def unfinished(self) -> Iterator[UnfinishedTrial]:
        """Yield the documents that were asked, by the file's own count, and are not there."""
        for task, samples in self.samples.items():
            for doc_id in self._missing(task, samples):
                yield UnfinishedTrial(
                    model_id=self.model_id,
                    case_id=self.case_id(task, doc_id),
                    repetition=1,
                    provider=self.provider,
                    model=self.model,
                    prompt_id=f"{task}/{doc_id}",
                )

    def _missing(self, task: str, samples: Samples) -> list[int]:
        """Return which of the first documents are missing; none where others were chosen."""
        n_asked = self._n_asked(task)
        if not 0 < n_asked - len(samples.docs) <= MAX_MISSING:
            return []
        if max(samples.docs, default=0) >= n_asked:
            return []
        return [doc_id for doc_id in range(n_asked) if doc_id not in samples.docs]

    def _n_asked(self, task: str) -> int:
        asked = number(object_in(self.results, "n-samples", task).get("effective"))
        return int(asked) if asked is not None and 0 <= asked < 2**40 else 0

    def lines(self) -> Iterator[base.Traced]:
        at_ms = file_moment(self.path) if self.started_at_ms is None else self.started_at_ms
        for task, samples in self.samples.items():
            if not samples.docs:
                continue
            fields = {
                "run_id": self.run_id,
                "suite_id": self.suite_id,
                "model_id": self.model_id,
                "provider": self.provider,
                "model": self.model,
                "tags": (task, *(one for one, held in self.groups.items() if task in held)),
            }
            listed = [split_name(key) for key in metrics_of(self.results["results"][task])]
            made = [object_in(self.results, one).get(task) for one in ("versions", "n-shot")]
            version = " ".join([task, *map(text, made)])
            place = Place(fields, version, at_ms, self.deciding[task], listed)
            for doc_id in sorted(samples.docs):
                names = {
                    "case_id": self.case_id(task, doc_id),
                    "prompt_id": f"{task}/{doc_id}",
                }
                yield traced_of(place, samples, doc_id, names)

    def leftover(self) -> dict[str, JsonValue]:
        kept = {name: free(self.results[name]) for name in LEFTOVER if name in self.results}
        verdicts: dict[str, JsonValue] = {
            task: one.name if one.is_verdict else None for task, one in self.deciding.items()
        }
        found = redact_json(kept | {"verdicts": verdicts})
        return found if isinstance(found, dict) else {}

    def findings(self) -> Iterator[Finding]:
        """Yield what is told of rows, then of tasks: the same of several tasks once."""
        for samples in self.samples.values():
            yield from samples.findings
        tasks_by_warning: dict[tuple[str, str], list[str]] = {}
        for task in self.tasks:
            for said in self._of_task(task):
                tasks_by_warning.setdefault(said, []).append(task)
        for (code, what), tasks in tasks_by_warning.items():
            names = ", ".join(tasks[:MAX_NAMED])
            more = len(tasks) - MAX_NAMED
            names += f" and {counted(more, 'more task')}" * (more > 0)
            yield warning(code, pointer("results", tasks[0]), f"{names}: {what}")

    def _of_task(self, task: str) -> Iterator[tuple[str, str]]:
        """Yield codes and sentences about one task."""
        if task not in self.deciding:
            yield "no_samples", f"no samples, so its numbers stand without trials; {NO_SAMPLES}"
            return
        one, samples = self.deciding[task], self.samples[task]
        if one.is_verdict:
            filters = dict.fromkeys(name for seen in samples.docs.values() for name in seen)
            others = f" among the filters {', '.join(filters)}" if len(filters) > 1 else ""
            yield "verdict_chosen", f"{one.name} is the verdict{others}; `scores` has all numbers"
        else:
            yield "no_verdict", "no metric is 0 or 1 for every document, so there is no verdict"
        first = next(iter(samples.docs.values()))
        row = samples.row(next(iter(first.values())).place)
        n_repeats = max((len(request.answers) for request in requests_of(row)), default=0)
        if n_repeats > 1:
            what = (
                f"{n_repeats} answers a document, of which a filter makes one score; they are one "
                "trial, and its trace has all of them"
            )
            yield "repeats", what
        n_here, n_asked = len(samples.docs), self._n_asked(task)
        if n_asked and n_here != n_asked:
            held = counted(n_here, "document is", "documents are")
            yield "count_contradicts", f"{held} in the samples, and {n_asked:,} were asked"
        original = number(object_in(self.results, "n-samples", task).get("original"))
        if original is not None and 0 < n_asked < original:
            yield "limited", f"{n_asked:,} of {original:,.0f} documents were asked (--limit)"


def _pairs(given: str) -> dict[str, str]:
    """Return `model_args` written as `key=value,key=value`."""
    return dict(part.split("=", 1) for part in given.split(",") if "=" in part)


def _import(path: Path, asked: ImportRequest) -> base.Written:
    source = _Source(path, asked)
    results_name = "results.json"
    files = {results_name: path} | {one.name: one for one in source.files.values()}
    record: ImportRecord = base.new_record(
        sources=files,
        run_id=source.run_id,
        source_format="lm-eval",
        source_name=path.resolve().name,
        suite_id=source.suite_id,
        suite_title=source.suite_title[:200],
        started_at_ms=source.started_at_ms,
        unfinished=tuple(source.unfinished()),
        headlines=tuple(headlines_of(source.results, source.model_id)),
        leftover=source.leftover(),
    )
    findings = tuple(source.findings())
    return base.write_run(asked.runs_dir, record, source.lines(), files, findings)


def import_lm_eval(asked: ImportRequest) -> list[base.Written]:
    """Make a run folder of each file of results at a place.

    Raises:
        ConfigError: there is none, one has no samples, or another run has its name.
        NotImportable: it is no file of results.
        OSError: a file cannot be read, or a run not written.
    """
    files = results_files(asked.path)
    if asked.run_id is not None and len(files) > 1:
        what = f"one run id for {len(files)} files of results"
        advice = "name one results_<time>.json"
        raise ConfigError([Problem(asked.path, what, "--run-id", advice=advice)])
    return [_import(path, asked) for path in files]


def _detect(path: Path) -> bool:
    """Return whether a file is one of results."""
    if not is_results_name(path.name):
        return False
    head = head_of(path)
    return b'"results"' in head[:64] and (b"_stderr" in head or b'"alias"' in head)


IMPORTER = Importer(frozenset({"--suite", "--run-id"}), import_lm_eval, _detect)

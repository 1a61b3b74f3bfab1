"""A run folder in the making: which trials are planned, what each came to, and what lies beside.

A scenario says which models, cases and repetitions there are and what came of each trial; nothing
else writes a plan or a log. The same words give the same bytes, and they are those of a collector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from analyze.summary.summarize import summarize_run
from schemas.lake import lake_of
from schemas.output.summary import GroupSummary, RunSummary
from schemas.run.config import PlannedTrial, plan_line
from schemas.run.evaluation import Evaluation
from schemas.run.judgement import Judgement
from schemas.run.layout import EVALUATIONS
from schemas.run.preference import Preference
from schemas.run.result import Result, parse_line
from schemas.run.trace import artifact_frame
from tests.support import run_rows
from tests.support.mirrored import mirror_run
from tests.support.run_rows import line_of, sha

STARTED_AT_MS = 1_763_762_400_000
"""2025-11-21 22:00 UTC."""

DAY_MS = 86_400_000

Outcome = Mapping[str, Any] | bool | str | None
"""Of a trial: fields of its result, or only its verdict, or the failure it ended with.

None: it never ran.
"""

Fields = Mapping[str, Any]


def routed(*model_ids: str) -> dict[str, Fields]:
    """Return models that a router serves, each by its id what is planned of it."""
    return {name: {"model": f"acme/{name}", "provider": "openrouter"} for name in model_ids}


class RunBuilder:
    """A run in the making: plan trials, give them outcomes, write the folder, mirror it.

    Args:
        runs_dir: the folder of runs.
        run_id: its name there.
        started_at_ms: by default the first night's.
        day: so many days later.
    """

    def __init__(
        self,
        runs_dir: Path,
        run_id: str = "run-1",
        started_at_ms: int = STARTED_AT_MS,
        *,
        day: int = 0,
    ):
        self.runs_dir = runs_dir
        self.run_id = run_id
        self.started_at_ms = started_at_ms + day * DAY_MS
        self.trials: list[PlannedTrial] = []
        self.lines: list[bytes] = []
        self.evaluations: list[bytes] = []
        """Lines of evaluations.jsonl, a file that a run without any does not have."""
        self.labels: dict[str, str] = {}
        """Of models, by their ids."""
        self.config: dict[str, Any] = {}
        """Fields of config.json that are not as usual."""
        self.inventory: dict[str, Any] = {}
        """The same of inventory.json."""

    @property
    def path(self) -> Path:
        return self.runs_dir / self.run_id

    @property
    def lake(self) -> Path:
        return lake_of(self.runs_dir)

    def plan(
        self, case_id: str = "c1", repetition: int = 1, model_id: str = "m1", **fields: Any
    ) -> PlannedTrial:
        """Plan a trial of a case with a validator."""
        own = {
            "run_id": self.run_id, "suite_id": "smoke", "model_id": model_id, "case_id": case_id,
            "repetition": repetition, "model": "llama3.2:3b", "validator_type": "exact",
            "case_hash": sha(case_id), "run_fingerprint": sha(f"{model_id} {case_id} {repetition}"),
        }  # fmt: skip
        trial = run_rows.planned(len(self.trials), **(own | fields))
        self.trials.append(trial)
        return trial

    def result(self, trial: PlannedTrial, **fields: Any) -> Result:
        """Append the result of a trial; the n-th line begins n seconds after the run."""
        number = len(self.lines)
        at_ms = self.started_at_ms + 1000 * number
        own = {
            "run_id": self.run_id, "started_at_ms": at_ms, "ended_at_ms": at_ms + 400,
            "e2e_ms": 400, "ttft_ms": 100, "input_tokens": 10, "output_tokens": 20,
            "token_source": None, "raw_output": f"answer {number}",
        }  # fmt: skip
        result = run_rows.result(trial, **(own | fields))
        self.lines.append(line_of(result))
        return result

    def evaluation(self, of: Result | PlannedTrial, **fields: Any) -> Evaluation:
        """Append a look at the last record of a trial; the n-th is n minutes after the night."""
        own = self._later({"run_id": self.run_id, "result_no": self.record_no(of)})
        found = run_rows.evaluation(of, **(own | fields))
        self.evaluations.append(line_of(found))
        return found

    def judged(self, of: Result | PlannedTrial, *said: Any, **fields: Any) -> Judgement:
        """Append what a judge answered about the last record of a trial, and what it comes to.

        Args:
            of: the result or the planned trial.
            said: of each iteration; the judgement is of the last one.
            fields: of the judgement; those of a place are of every line.
        """
        place = {"run_id": self.run_id, "result_no": self.record_no(of)}
        place |= {
            name: fields.pop(name)
            for name in ("evaluation_profile_id", "result_no", "evaluated_at_ms")
            if name in fields
        }
        for number, one in enumerate(said, 1):
            line = run_rows.judge_iteration(of, one, iteration=number, **self._later(place))
            self.evaluations.append(line_of(line))
        found = run_rows.judgement(of, said[-1], **(self._later(place) | fields))
        self.evaluations.append(line_of(found))
        return found

    def asked(self, of: Result | PlannedTrial, said: Any, **fields: Any) -> None:
        """Append one answer of a judge about the last record of a trial, and no sum.

        Args:
            of: the result or the planned trial.
            said: as of `judge_iteration`.
            fields: of the line.
        """
        place = {"run_id": self.run_id, "result_no": self.record_no(of)}
        line = run_rows.judge_iteration(of, said, **self._later(place | fields))
        self.evaluations.append(line_of(line))

    def compared(self, of: Result | PlannedTrial, *said: Any, **fields: Any) -> Preference:
        """Append what a judge answered about the last record of a trial and another, and the sum.

        Args:
            of: the result or the planned trial.
            said: of each iteration and order: whom the judge prefers, or its failure.
            fields: of the preference; those of a place are of every line.
        """
        place = {"run_id": self.run_id, "result_no": self.record_no(of)}
        names = ("evaluation_profile_id", "other_run_id", "other_model_id", "other_result_no")
        place |= {name: fields.pop(name) for name in names if name in fields}
        for number, one in enumerate(said):
            order = ("this_first", "other_first")[number % 2]
            line = run_rows.pair_iteration(
                of, one, iteration=number // 2 + 1, pair_order=order, **self._later(place)
            )
            self.evaluations.append(line_of(line))
        found = run_rows.preference(of, **(self._later(place) | fields))
        self.evaluations.append(line_of(found))
        return found

    def _later(self, place: Fields) -> dict[str, Any]:
        n_looks = len(self.evaluations) + 1
        return {"evaluated_at_ms": self.started_at_ms + DAY_MS + 60_000 * n_looks, **place}

    def record_no(self, of: Result | PlannedTrial) -> int:
        """Return the last line that has a result of a trial."""
        wanted = of.model_id, of.case_id, of.repetition
        records = enumerate(map(parse_line, self.lines), 1)
        return max(
            number
            for number, one in records
            if isinstance(one, Result) and (one.model_id, one.case_id, one.repetition) == wanted
        )

    def event(self, name: str, **fields: Any) -> None:
        """Append an event of the run's first moment."""
        own = {"run_id": self.run_id, "event": name, "at_ms": self.started_at_ms}
        self.lines.append(line_of(run_rows.event(**(own | fields))))

    def write_traces(self, *traces: Fields) -> list[str]:
        """Append traces, in the shape of `run_rows.trace`; return the `artifact_path` of each."""
        folder = self.path / "artifacts"
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for one in traces:
            name = f"{one['model_id']}.jsonl.zst"
            with (folder / name).open("ab") as file:
                paths.append(f"artifacts/{name}#{file.tell()}")
                file.write(artifact_frame(one))
        return paths

    def traced(self, trial: PlannedTrial, *events: tuple[str, Fields], **fields: Any) -> Result:
        """Append a result with a trace of these events, by default those of `TOOL_EVENTS`."""
        rows = events or run_rows.TOOL_EVENTS
        key = trial.model_id, trial.case_id, trial.repetition
        (path,) = self.write_traces(run_rows.trace(self.run_id, *key, *rows))
        own = {"artifact_path": path, "tool_ms": 12, "tool_call_source": "api"}
        return self.result(trial, **(own | fields))

    def night(
        self,
        cases: Iterable[str] | Mapping[str, Sequence[Outcome]],
        outcome: Outcome | Callable[[PlannedTrial], Outcome] = True,
        *,
        models: Iterable[str] | Mapping[str, Fields] = ("m1",),
        repetitions: int | Iterable[int] = 1,
        plan: Fields | Callable[[str, int, str], Fields] | None = None,
    ) -> Self:
        """Plan models x cases x repetitions, give each trial its outcome, and write the folder.

        Args:
            cases: their ids; or by each id the outcomes of its repetitions, from the first.
            outcome: of every trial, or what gives it for one.
            models: their ids; or by each id fields of its planned trials.
            repetitions: how many or which, where `cases` has no outcomes.
            plan: fields of every planned trial, or what gives them by case, repetition and model.
        """
        by_model = models if isinstance(models, Mapping) else {name: {} for name in models}
        several = range(1, repetitions + 1) if isinstance(repetitions, int) else tuple(repetitions)
        for model_id, identity in by_model.items():
            for case_id in cases:
                known = cases[case_id] if isinstance(cases, Mapping) else None
                for n in several if known is None else range(1, len(known) + 1):
                    more = plan(case_id, n, model_id) if callable(plan) else plan or {}
                    trial = self.plan(case_id, n, model_id, **{**identity, **more})
                    if known is not None:
                        self._end(trial, known[n - 1])
                    else:
                        self._end(trial, outcome(trial) if callable(outcome) else outcome)
        self.write()
        return self

    def take_over(self, earlier: RunBuilder) -> Self:
        """Plan what an earlier run did, take over each of its answers, and write the folder."""
        mine = {"run_id": self.run_id}
        self.config, self.inventory = earlier.config, earlier.inventory
        self.trials = [trial.model_copy(update=mine) for trial in earlier.trials]
        reused = mine | {"reused_from_run_id": earlier.run_id}
        for line in earlier.lines:
            record = parse_line(line)
            changes = reused if isinstance(record, Result) else mine
            self.lines.append(line_of(record.model_copy(update=changes)))
        self.write()
        return self

    def _end(self, trial: PlannedTrial, outcome: Outcome) -> None:
        """Append what a trial came to, if it ran."""
        if isinstance(outcome, bool):
            self.result(trial, passed=outcome)
        elif isinstance(outcome, str):
            self.result(trial, failure_type=outcome)
        elif outcome is not None:
            self.result(trial, **outcome)

    def write(self) -> Path:
        """Write the folder, again whenever something was added, and return it."""
        own = {"run_id": self.run_id, "started_at_ms": self.started_at_ms}
        own["n_planned"] = len(self.trials)
        config = run_rows.config(self.trials, self.labels, **(own | self.config))
        inventory = run_rows.inventory(**({"run_id": self.run_id} | self.inventory))
        self.path.mkdir(parents=True, exist_ok=True)
        for name, record in (("config.json", config), ("inventory.json", inventory)):
            (self.path / name).write_text(record.model_dump_json(indent=2) + "\n")
        (self.path / "plan.jsonl").write_bytes(b"".join(map(plan_line, self.trials)))
        if self.evaluations:
            (self.path / EVALUATIONS).write_bytes(b"".join(self.evaluations))
        (self.path / "results.jsonl").write_bytes(b"".join(self.lines))
        return self.path

    def mirror(self) -> Self:
        """Write the folder and bring it into the lake."""
        self.write()
        mirror_run(self.path, self.lake)
        return self

    def summary(self) -> RunSummary:
        """Write, mirror and summarize."""
        return summarize_run(self.mirror().path, self.lake)

    def group(self) -> GroupSummary:
        """Return the only group of the summary."""
        (group,) = self.summary().models
        return group

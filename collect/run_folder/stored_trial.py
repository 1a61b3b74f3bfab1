"""A trial as a run folder has it: its line, its trace and its files, as far as they are there."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from collect.config.runners import RUNNERS
from schemas.errors import NotOwnFile
from schemas.failures import known_failure
from schemas.io.own_files import open_own_file
from schemas.run.layout import is_run_id
from schemas.run.result import Result
from schemas.run.trace import REFERENCE, Artifact, trace_content


class StoredTrial:
    """One trial.

    Args:
        run_dir: the run's folder.
        result: its line of results.jsonl.
    """

    def __init__(self, run_dir: Path, result: Result) -> None:
        self._run_dir, self.result = run_dir, result

    @cached_property
    def artifact(self) -> Artifact | None:
        """The trace; None: it is lost."""
        match = REFERENCE.fullmatch(self.result.artifact_path or "")
        if match is None:
            return None
        try:
            with open_own_file(self._run_dir, match[1]) as file:
                content = trace_content(file, int(match[2]))
            return None if content is None else Artifact.model_validate_json(content)
        except (OSError, NotOwnFile, ValidationError):
            return None

    @property
    def text(self) -> str:
        """The final text, whole where the trace has it."""
        if not self.result.raw_output_truncated or self.artifact is None:
            return self.result.raw_output
        finals = [one for one in self.artifact.trace if one.event_type == "final_output"]
        return finals[-1].content if finals else self.result.raw_output

    @property
    def n_tool_calls(self) -> int | None:
        """How many tools were called; None: only the lost trace had that."""
        if self.result.tool_call_source != "api":
            return self.result.tool_call_count
        if self.artifact is None:
            return None
        return sum(one.event_type == "tool_call" for one in self.artifact.trace)

    @property
    def left(self) -> tuple[Path | None, str | None]:
        """The folder of what it left, None: nothing; and why it is not looked into, if so.

        The files of an answer that was taken over lie where it was given.
        """
        if self.artifact is None:
            return None, "the trace, which says where the files are, is lost"
        if self.artifact.workspace is None:
            return None, None
        of_run = self.result.reused_from_run_id
        if of_run is not None and not is_run_id(of_run):
            return None, "the line names a run that no run can be called"
        run_dir = self._run_dir if of_run is None else self._run_dir.parent / of_run
        path = run_dir
        for part in Path(self.artifact.workspace).parts:
            path /= part
            if part in {"/", ".."} or path.is_symlink():
                return None, "the folder of its files leads out of the run"
        return path, None


def is_agents(result: Result) -> bool:
    """Return whether an agent made a trial, so that what it left counts however it ended."""
    return result.runner_type in RUNNERS and RUNNERS[result.runner_type].is_agent


def counts_against_model(result: Result, *, was_scorable: bool) -> bool | None:
    """Return whether a failed trial is the model's; None: it was answered.

    A time-out is the model's once the endpoint had accepted the request; then, of a case that can
    get a verdict, the run gave one.
    """
    if result.success:
        return None
    failure = known_failure(result.failure_type)
    if failure is None:
        return False
    if result.failure_type == "timeout" and was_scorable:
        return result.passed is False or (is_agents(result) and result.attempt_count > 0)
    return failure.counts_against_model

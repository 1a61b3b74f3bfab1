"""A runner that a package adds to benchlake: it says a case's turns in capitals, and asks nobody.

Where a file `down` is, its server cannot be reached; where a file `bug` is, it makes a mistake;
where a file `odd` is, it fails in a way that nobody knows.
"""

from pathlib import Path

from collect.config.runners import RunnerKind
from collect.providers.base import Outcome
from collect.runners.base import Execution
from collect.runners.trace import Trace
from schemas.run.trace import now_ms


class Crew:
    """Runs the trials of one model."""

    def __init__(self, model, context):
        """Take what every runner is given."""
        self._run_dir = context.run_dir
        self._folder = Path("workspaces", model.model_id)

    async def run(self, trial, case, place):
        """Say each message in capitals, and leave the last of it in a file."""
        began, trace = now_ms(), Trace()
        outcome, facts = self._said(trial, case, trace)
        trace.final_output(outcome.text)
        return Execution(
            trial=trial,
            case=case,
            outcome=outcome,
            started_at_ms=began,
            ended_at_ms=now_ms(),
            trace=trace.events,
            **facts,
        )

    def _said(self, trial, case, trace):
        if Path("bug").exists():
            raise ZeroDivisionError
        if Path("down").exists():
            return Outcome(failure_type="connection_error", error_message="down"), {}
        if Path("odd").exists():
            return Outcome(text="said before", failure_type="bored"), {}
        for message in (*case.messages, *case.turns):
            trace.message("user", message["content"])
            text = message["content"].upper()
            trace.message("assistant", text)
        workspace = self._folder / trial.case_id / str(trial.repetition)
        files = self._run_dir / workspace / "workspace"
        files.mkdir(parents=True)
        (files / "said.txt").write_text(text)
        return Outcome(text=text), {"turns": 1 + len(case.turns), "workspace": str(workspace)}

    async def aclose(self):
        """Let go of nothing."""


CREW = RunnerKind("example_crew:Crew", takes_turns=True, has_workspace=True)

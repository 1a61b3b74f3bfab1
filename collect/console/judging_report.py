"""What came of judging: counts, and lines for people."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from schemas.errors import counted, runs_flag
from schemas.run.judgement import JudgeFailure


@dataclass
class JudgeCounts:
    """What came of one judge's questions, each failure by itself."""

    asked: int = 0
    succeeded: int = 0
    failures: dict[JudgeFailure, int] = field(default_factory=dict)
    last_problem: str | None = None
    """What was wrong with the last answer that could not be used."""


@dataclass
class JudgingReport:
    """What came of judging; part of what `collect run` and `collect evaluate` print as JSON."""

    evaluation_profile_id: str
    pass_threshold: float | None
    """As the profile says it."""
    n_trials: int = 0
    n_judged: int = 0
    """Got a new judgement."""
    n_unchanged: int = 0
    """Have the judgement that they had."""
    n_skipped: int = 0
    """Left nothing to judge: their failure came first."""
    n_open: int = 0
    """Of some judge there is no answer yet."""
    n_failed: int = 0
    """No answer of any judge could be used."""
    verdicts: dict[str, int] = field(default_factory=lambda: {"passed": 0, "failed": 0})
    """Of the judgements as they stand, where the profile has a threshold."""
    judges: dict[str, JudgeCounts] = field(default_factory=dict)
    cost_usd: float = 0.0
    """Of the answers that were asked for now, as far as it is known."""
    n_without_cost: int = 0
    stopped: str | None = None
    """Why something was left; null: nothing was."""

    @property
    def is_whole(self) -> bool:
        """Return whether every trial that left something has a usable judgement."""
        return not (self.n_open or self.n_failed)

    def lines(self, run_dir: Path) -> list[str]:
        """Return what came of it, for people, with the command that asks for what is left."""
        counts = {
            "as before": self.n_unchanged,
            "left nothing to judge": self.n_skipped,
            "not judged yet": self.n_open,
            "without a usable answer": self.n_failed,
        }
        parts = [f"{self.n_judged:,} judged"]
        parts += [f"{n:,} {what}" for what, n in counts.items() if n]
        trials = counted(self.n_trials, "trial")
        lines = [f"evaluation profile {self.evaluation_profile_id}: {trials}: {', '.join(parts)}"]
        if self.pass_threshold is not None:
            verdicts = ", ".join(f"{n:,} {name}" for name, n in self.verdicts.items())
            lines.append(f"verdicts of the judges: {verdicts}")
        for name, one in self.judges.items():
            failures = "".join(f", {n:,} {what}" for what, n in sorted(one.failures.items()))
            asked = counted(one.asked, "question")
            lines.append(f"judge {name}: {asked}, {one.succeeded:,} answered{failures}")
            if one.last_problem is not None:
                lines.append(f"  the last that could not be used: {one.last_problem}")
        if any(one.asked for one in self.judges.values()):
            n = self.n_without_cost
            unknown = f", and {counted(n, 'answer')} of unknown cost" if n else ""
            lines.append(f"judges cost ${self.cost_usd:,.4f}{unknown}")
        if self.stopped is not None:
            lines.append(f"judging stopped: {self.stopped}")
        if not self.is_whole:
            lines.append(f"`{self.again(run_dir)}` asks for what is missing")
        return lines

    def again(self, run_dir: Path) -> str:
        """Return the command that asks judges for what is left of a run."""
        named = ("--evaluation-profile", self.evaluation_profile_id)
        return shlex.join(("collect", "evaluate", run_dir.name, *named, *runs_flag(run_dir.parent)))

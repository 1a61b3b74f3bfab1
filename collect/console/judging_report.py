"""What came of judging: counts, and lines for people."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from schemas.errors import counted, runs_flag
from schemas.run.judgement import AskedRecord, JudgeFailure


@dataclass
class JudgeCounts:
    """What came of one judge's questions, each failure by itself."""

    asked: int = 0
    succeeded: int = 0
    failures: dict[JudgeFailure, int] = field(default_factory=dict)
    last_problem: str | None = None
    """What was wrong with the last answer that could not be used."""


@dataclass
class JudgeWork:
    """What came of asking judges, whatever they were asked."""

    evaluation_profile_id: str
    judges: dict[str, JudgeCounts]
    n_trials: int = 0
    n_judged: int = 0
    """Got something new."""
    n_unchanged: int = 0
    """Have what they had."""
    n_skipped: int = 0
    """Left nothing to judge: their failure came first."""
    n_open: int = 0
    """Of some judge there is no answer yet."""
    n_failed: int = 0
    """No answer of any judge could be used."""
    cost_usd: float = 0.0
    """Of the answers that were asked for now, as far as it is known."""
    n_without_cost: int = 0
    stopped: str | None = None
    """Why something was left; null: nothing was."""

    @property
    def is_whole(self) -> bool:
        """Return whether judges have a say on every trial that left something."""
        return not (self.n_open or self.n_failed)

    def counted(self, judge_id: str, failure: JudgeFailure | None, line: AskedRecord) -> None:
        """Take in what came of one question."""
        counts = self.judges[judge_id]
        counts.asked += 1
        if failure is None:
            counts.succeeded += 1
        else:
            counts.failures[failure] = counts.failures.get(failure, 0) + 1
            counts.last_problem = line.error_message
        self.cost_usd += line.cost_usd or 0.0
        self.n_without_cost += line.cost_usd is None

    def trial_counts(self, done: str) -> str:
        """Return what became of the trials, for people; `done`: a word for it."""
        counts = {
            "as before": self.n_unchanged,
            "left nothing to judge": self.n_skipped,
            "not judged yet": self.n_open,
            "without a usable answer": self.n_failed,
        }
        parts = [f"{self.n_judged:,} {done}"]
        parts += [f"{n:,} {what}" for what, n in counts.items() if n]
        return f"{counted(self.n_trials, 'trial')}: {', '.join(parts)}"

    def judge_lines(self, run_dir: Path) -> list[str]:
        """Return what came of each judge, and the command that asks for what is left."""
        lines = []
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
        words = ("collect", "evaluate", run_dir.name, *self._named(), *runs_flag(run_dir.parent))
        return shlex.join(words)

    def _named(self) -> tuple[str, ...]:
        """Return the options that say what is asked."""
        return ("--evaluation-profile", self.evaluation_profile_id)


@dataclass
class JudgingReport(JudgeWork):
    """What came of judging; part of what `collect run` and `collect evaluate` print as JSON."""

    pass_threshold: float | None = None
    """As the profile says it."""
    verdicts: dict[str, int] = field(default_factory=lambda: {"passed": 0, "failed": 0})
    """Of the judgements as they stand, where the profile has a threshold."""

    def lines(self, run_dir: Path) -> list[str]:
        """Return what came of it, for people, with the command that asks for what is left."""
        profile = self.evaluation_profile_id
        lines = [f"evaluation profile {profile}: {self.trial_counts('judged')}"]
        if self.pass_threshold is not None:
            verdicts = ", ".join(f"{n:,} {name}" for name, n in self.verdicts.items())
            lines.append(f"verdicts of the judges: {verdicts}")
        return [*lines, *self.judge_lines(run_dir)]


@dataclass
class PairCounts:
    """What the preferences of one model's trials come to."""

    won: int = 0
    tied: int = 0
    lost: int = 0
    cannot_say: int = 0
    identical: int = 0
    """Of those that are tied, how many left the same."""


@dataclass
class PairwiseReport(JudgeWork):
    """What came of holding trials against others; part of what `collect evaluate` prints."""

    other_run_dir: str = ""
    other_model_id: str | None = None
    """That was asked for; null: of each model the one of its name, or the only one."""
    n_unpaired: int = 0
    """Trials without one of the same case and repetition on the other side: left out."""
    models: dict[str, PairCounts] = field(default_factory=dict)
    n_comparisons: int = 0
    """A judge's answers in both orders."""
    n_flips_to_first: int = 0
    n_flips_to_second: int = 0
    n_longer_won: int = 0
    """Trials that won or lost, and the winner's answer is longer."""
    n_shorter_won: int = 0

    def lines(self, run_dir: Path) -> list[str]:
        """Return what came of it, for people, with the command that asks for what is left."""
        profile, other = self.evaluation_profile_id, Path(self.other_run_dir).name
        trials = self.trial_counts("compared")
        lines = [f"evaluation profile {profile}: against run {other}: {trials}"]
        if self.n_unpaired:
            left = counted(self.n_unpaired, "trial")
            lines.append(f"left out: {left} without one of the same case and repetition there")
        for model_id, one in self.models.items():
            same = f" ({one.identical:,} identical)" if one.identical else ""
            unsaid = f", {one.cannot_say:,} cannot say" if one.cannot_say else ""
            counts = f"{one.won:,} won, {one.tied:,} tied{same}, {one.lost:,} lost{unsaid}"
            lines.append(f"model {model_id}: {counts}")
        if self.n_comparisons:
            lines.append(
                f"order: of {counted(self.n_comparisons, 'comparison')} in both orders "
                f"{self.n_flips_to_first:,} went to whichever stood first and "
                f"{self.n_flips_to_second:,} to whichever stood second: ties"
            )
        if decided := self.n_longer_won + self.n_shorter_won:
            lines.append(
                f"length: of {counted(decided, 'trial')} won or lost "
                f"{self.n_longer_won:,} went to the longer answer"
            )
        return [*lines, *self.judge_lines(run_dir)]

    def _named(self) -> tuple[str, ...]:
        model = () if self.other_model_id is None else ("--against-model", self.other_model_id)
        return (*super()._named(), "--against", self.other_run_dir, *model)

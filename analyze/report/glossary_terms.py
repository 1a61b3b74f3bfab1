"""The vocabulary of reports: each number, where it is shown, how it is made, where that is from.

What a field means stands in its record. Here it is said again only where the record says nothing,
or where a reader needs more than the record's own readers do.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.base import PassK, Record
from schemas.output.comparison import CaseChange, GroupComparison, RateDifference, Ratio, SideFacts
from schemas.output.regressions import Shift
from schemas.output.report import (
    FailureCount,
    FrontierPoint,
    HistoryPoint,
    LatencyBin,
    MatrixCell,
    ModelAnswer,
)
from schemas.output.summary import GroupSummary, Percentiles, TokenTotals, ToolUse
from schemas.run.inventory import DiskRoot, ResourceSnapshot

SECTIONS = (
    "answer",
    "leaderboard",
    "matrix",
    "comparison",
    "history",
    "latency",
    "frontier",
    "tiers",
    "failures",
    "resources",
)
"""Sections of a report that show numbers."""


@dataclass(frozen=True)
class Entry:
    """One number.

    Attributes:
        name: as tables and charts have it.
        field: its name in JSON, from the model or the case on.
        sections: that show it.
        record: that its last name is a field of.
        said: what it means, where the record does not say it.
        formula: how it is made.
        source: where the formula is from.
    """

    name: str
    field: str
    sections: tuple[str, ...]
    record: type[Record]
    said: str | None = None
    formula: str | None = None
    source: str | None = None


WILSON = "Wilson 1927 on an effective number of trials (Kish 1965; Korn and Graubard 1998)"
MOVER = "Newcombe 1998, method 10; Zou and Donner 2008"
COX = "Student's t over cases (Cochran 1977; Zhou and Gao 1997)"
OF_MEAN = (
    "mean times and over exp(t x the larger relative error, of the values or of their logarithms)"
)
BY_CASES = "95 % interval, by cases"
OF_RUN = ("answer", "leaderboard")
TIMES = ("leaderboard", "latency")


def _times(head: str, field: str, said: str) -> tuple[Entry, ...]:
    """Return the percentiles of one time, its mean, and how many stand behind them."""
    of = f"of the {said} in ms, of trials made in this run"
    many = (("p50", "50", "10"), ("p95", "95", "100"), ("p99", "99", "500"))
    return (
        *(
            Entry(
                f"{head}{name} ms",
                f"{field}.{name}",
                TIMES,
                Percentiles,
                f"{percent}th percentile {of}: a time-out of the model's is later than every "
                f"answer, `> limit` is beyond the time limit; grey below {least} of them.",
                f"linear interpolation at (n - 1) x 0.{percent}; supported from "
                f"n x (1 - 0.{percent}) = 5 on",
            )
            for name, percent, least in many
        ),
        Entry(
            f"{head}mean ms",
            f"{field}.mean",
            TIMES,
            Percentiles,
            f"Mean {of}: of answered trials alone.",
        ),
        Entry(
            f"{head}n",
            f"{field}.n",
            TIMES,
            Percentiles,
            "Answered trials made in this run of which that time is known.",
        ),
        Entry(
            f"{head}timed out",
            f"{field}.n_timeouts",
            TIMES,
            Percentiles,
            "Time-outs that count against the model, and as the latest times of its percentiles.",
        ),
    )


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "passed %",
        "passed_rate",
        (*OF_RUN, "matrix", "history", "frontier"),
        GroupSummary,
        said=(
            "Share that passed of the trials with a verdict: the number that everything is "
            "judged by."
        ),
        formula="passed / trials with a verdict",
    ),
    Entry(
        "95 % of passed",
        "passed_ci95",
        (*OF_RUN, "history", "frontier"),
        GroupSummary,
        said=(
            "95 % interval of the mean over cases, for cases like these: cases are a sample of the"
            " work, and repetitions of one are not independent. Where that mean is another than"
            " the rate, it is named. None below two cases."
        ),
        formula=(
            "Wilson's interval with n = cases x mean trials / how much less repetitions tell, which"
            " is measured and shrunk to what is expected"
        ),
        source=WILSON,
    ),
    Entry(
        "cases",
        "n_cases",
        (*OF_RUN, "matrix", "comparison", "history", "tiers"),
        ModelAnswer,
        said="Cases with a verdict; of a comparison, those with one on both sides.",
    ),
    Entry(
        "verdicts",
        "n_scorable",
        ("leaderboard",),
        GroupSummary,
        said=(
            "Trials with a verdict, and planned trials that can get one: a case without a "
            "check cannot."
        ),
    ),
    Entry(
        "verdicts of a point",
        "n_scored",
        ("answer", "matrix", "history", "frontier"),
        HistoryPoint,
        said="Trials with a verdict.",
    ),
    Entry("planned", "n_planned", ("matrix",), MatrixCell, said="Trials in the plan."),
    Entry("passed", "n_passed", ("matrix",), MatrixCell, said="Trials that passed."),
    Entry(
        "change",
        "difference",
        ("answer", "comparison"),
        ModelAnswer,
        said="Candidate less baseline in points of 100, paired by case.",
        formula="mean over common cases of the candidate's rate less the base's",
    ),
    Entry(
        "95 % of change",
        "difference_low",
        ("answer", "comparison"),
        ModelAnswer,
        said="95 % interval of the change, for cases like these.",
        formula=(
            "Wilson's interval of each side, carried over with the correlation of the case rates"
        ),
        source=MOVER,
    ),
    Entry("broke", "n_broke", ("answer", "comparison"), ModelAnswer),
    Entry("fixed", "n_fixed", ("answer", "comparison"), ModelAnswer),
    Entry(
        "verdict",
        "verdict",
        ("answer", "comparison"),
        GroupComparison,
        said="What follows from the comparison. Inconclusive is not the same as unchanged.",
        formula=(
            "the first that holds: not comparable; unchanged, when the 90 % interval lies "
            "inside the margin; improved or regressed, when q is at most alpha; inconclusive"
        ),
        source="Schuirmann 1987 for unchanged",
    ),
    Entry(
        "strict %",
        "score_strict",
        ("leaderboard", "comparison"),
        GroupSummary,
        said="The passed rate with every missing verdict counted as not passed.",
        formula="passed / trials that can get a verdict",
        source="lower bound, Manski 2003",
    ),
    Entry(
        "available %",
        "score_available",
        ("leaderboard", "comparison"),
        GroupSummary,
        said="The passed rate over what has a verdict, whatever is missing.",
        formula="passed / trials with a verdict",
    ),
    Entry(
        "coverage %",
        "coverage",
        ("leaderboard", "comparison", "history"),
        GroupSummary,
        said=(
            "How much of what can get a verdict has one; below `min_coverage` nothing is compared."
        ),
        formula="trials with a verdict / trials that can get one",
    ),
    Entry(
        "answered %",
        "success_rate_ok",
        ("leaderboard",),
        GroupSummary,
        said="Answers without an error, of the trials that the provider served.",
        formula="n_success / n_ok",
    ),
    Entry(
        "answered % (all)",
        "success_rate",
        ("leaderboard",),
        GroupSummary,
        said="Answers without an error, of all trials: a time-out or an outage is none.",
        formula="n_success / n_total",
    ),
    Entry(
        "ranked",
        "is_ranked",
        ("leaderboard",),
        ModelAnswer,
        said=(
            "Whether it may be named best: five cases with a verdict, or clusters of them, and a "
            "coverage that is not below `min_coverage`."
        ),
    ),
    Entry(
        "obj pass %",
        "objective_pass_rate",
        ("leaderboard",),
        GroupSummary,
        said="Answered trials that the validator passed, of those that it judged.",
    ),
    Entry(
        "output tokens a second",
        "output_tokens_per_s",
        ("leaderboard", "resources"),
        GroupSummary,
        said="Output tokens per second of answer time, of answered trials.",
    ),
    Entry(
        "USD",
        "cost_usd",
        ("leaderboard", "resources"),
        GroupSummary,
        said="Sum in USD over the trials whose cost is known: what was paid at least.",
    ),
    Entry("k", "k", ("comparison",), PassK, said="Trials of a case that are looked at together."),
    Entry(
        "pass@k",
        "pass_at_k",
        ("leaderboard", "comparison"),
        GroupSummary,
        said="Chance that at least one of k trials of a case passes.",
        formula="mean over cases of 1 - C(m - c, k) / C(m, k)",
        source="Chen et al. 2021, arXiv 2107.03374, section 2.1",
    ),
    Entry(
        "pass^k",
        "pass_hat_k",
        ("leaderboard", "comparison"),
        GroupSummary,
        said="Chance that all of k trials of a case pass.",
        formula="mean over cases of C(c, k) / C(m, k)",
        source="Yao et al. 2024, arXiv 2406.12045",
    ),
    *_times("", "latency_ms", "time from the first request byte to the last response byte"),
    *_times("first token ", "ttft_ms", "time to the first content token"),
    Entry(
        "time",
        "bin_from_ms",
        ("latency",),
        LatencyBin,
        said="Times that are counted together, in ms: from here, and below `bin_to_ms`.",
    ),
    Entry(
        "base %",
        "base_rate",
        ("comparison",),
        RateDifference,
        said="Mean over the common cases of the share that passed in the baseline.",
    ),
    Entry(
        "cand %",
        "candidate_rate",
        ("comparison",),
        RateDifference,
        said="Mean over the common cases of the share that passed in this run.",
    ),
    Entry(
        "90 % of change",
        "low90",
        ("comparison",),
        RateDifference,
        said="90 % interval of the change: inside the margin, the model is unchanged.",
        source=MOVER,
    ),
    Entry(
        "changed cases",
        "n_nonzero",
        ("comparison",),
        RateDifference,
        said="Common cases whose rate differs; below five of them no p reaches 0.05.",
    ),
    Entry(
        "p",
        "p",
        ("comparison",),
        RateDifference,
        said="Chance of a change this large if nothing had changed.",
        formula=(
            "mid-p of the exact distribution of the sum of differences over all patterns of signs; "
            "with unequal trials of a case on the two sides, that of its passes dealt to all its "
            "trials, and at least that of the interval or of Student's t over cases"
        ),
        source="Fisher 1935; Pagano and Tritchler 1983; Berger 1982",
    ),
    Entry(
        "q",
        "q",
        ("comparison",),
        RateDifference,
        said="p, raised for looking at several models at once; the verdict goes by it.",
        source="Benjamini and Hochberg 1995",
    ),
    Entry(
        "shows",
        "detectable",
        ("comparison",),
        RateDifference,
        formula=(
            "what `analyze power` answers for as many cases and trials, with the pass rate and "
            "rho of the candidate's history, kappa of both sides, and what nights vary by"
        ),
        source="Miller 2024, section 5; Hoenig and Heisey 2001",
    ),
    Entry("cases needed", "cases_needed", ("comparison",), RateDifference),
    Entry(
        "ratio",
        "ratio",
        ("comparison",),
        Ratio,
        said=(
            "Candidate over base of a time, of tokens or of a cost, paired by case. Null "
            "below five cases."
        ),
        formula="exp of the mean difference of the case means of ln, with Student's t over cases",
    ),
    Entry(
        "95 % of ratio",
        "ratios.low",
        ("comparison",),
        Ratio,
        said="95 % interval of the ratio, by cases.",
    ),
    Entry(
        "totals",
        "totals_ratio",
        ("comparison",),
        Ratio,
        said="Ratio of the sums over the same trials, untested.",
    ),
    Entry(
        "out %",
        "left_out_base",
        ("comparison",),
        Ratio,
        said=(
            "Share of the trials that the ratio leaves out, of either side: for times, those "
            "that did not succeed at the first attempt."
        ),
    ),
    Entry("without a verdict", "causes", ("comparison",), SideFacts),
    Entry(
        "base",
        "base_passed",
        ("comparison",),
        CaseChange,
        said="Trials of the case that passed in the baseline, of those with a verdict.",
    ),
    Entry(
        "this run",
        "candidate_passed",
        ("comparison",),
        CaseChange,
        said="Trials of the case that passed in this run, of those with a verdict.",
    ),
    Entry("p50 ms of a run", "e2e_ms_p50", ("history",), HistoryPoint),
    Entry(
        "level",
        "before",
        ("history",),
        Shift,
        said=(
            "Level of a number over the runs before a shift, and since it: a rate, ms, or USD"
            " a trial."
        ),
    ),
    Entry(
        "shift",
        "size",
        ("history",),
        Shift,
        said=(
            "New level less the old one of a rate, or over it of a time or cost, for these "
            "very cases."
        ),
        formula=(
            "best split with three runs on either side: an alert at p < 0.001 of a rate (scan), at"
            " p < 0.0005 of a time or cost (t times the number of splits), and beyond the margin"
        ),
        source="Miller and Siegmund 1982; Student's t with Bonferroni's correction",
    ),
    Entry(
        "USD a trial",
        "cost_usd_per_scored",
        ("frontier",),
        FrontierPoint,
        said="What one trial with a verdict costs, in USD.",
        formula="cost / trials of known cost with a verdict",
    ),
    Entry(
        "95 % USD",
        "cost_low",
        ("frontier",),
        FrontierPoint,
        said=f"{BY_CASES} of the cost of a trial with a verdict.",
        formula=OF_MEAN,
        source=COX,
    ),
    Entry("best for its cost", "is_on_frontier", ("frontier",), FrontierPoint),
    Entry(
        "mean answer ms",
        "e2e_ms_mean",
        ("frontier",),
        FrontierPoint,
        said="Mean answer time of answered trials, in ms.",
    ),
    Entry(
        "95 % ms",
        "e2e_ms_low",
        ("frontier",),
        FrontierPoint,
        said=f"{BY_CASES} of the mean answer time.",
        formula=OF_MEAN,
        source=COX,
    ),
    Entry(
        "best for its time",
        "is_on_time_frontier",
        ("frontier",),
        FrontierPoint,
        said=(
            "No model is faster and at least as good, or better and no slower; null where "
            "time or rate is unknown, and of a model that cannot be ranked."
        ),
    ),
    Entry(
        "tools %",
        "tool_use.rate",
        ("tiers",),
        ToolUse,
        said="How often the model used one of the tools that it was expected to use.",
        formula="trials that used an expected tool / served trials with expected tools",
    ),
    Entry(
        "95 % of tools",
        "tool_use.ci95",
        ("tiers",),
        ToolUse,
        said=f"{BY_CASES} of the share above.",
        source=WILSON,
    ),
    Entry(
        "tool trials",
        "tool_use.n",
        ("tiers",),
        ToolUse,
        said="Trials with expected tools that the provider served.",
    ),
    Entry(
        "tier",
        "tool_use.tier_label",
        ("tiers",),
        ToolUse,
        said="Routing tier by tool use.",
        formula="1 from 80 %, 2 from 50 %, else 3, unless the thresholds say otherwise",
    ),
    Entry("confident", "tool_use.tier_confident", ("tiers",), ToolUse),
    Entry(
        "failure",
        "failure_type",
        ("failures",),
        FailureCount,
        said="How trials ended that were not answered.",
    ),
    Entry(
        "cause",
        "cause",
        ("failures",),
        FailureCount,
        said=(
            "Whose fault it is: model, provider, infrastructure, harness or configuration; "
            "unknown of a line by another tool."
        ),
    ),
    Entry(
        "counts against the model",
        "counts_against_model",
        ("failures",),
        FailureCount,
        said="The trial did not pass; otherwise it has no verdict.",
    ),
    Entry(
        "trials",
        "n_trials",
        ("failures", "latency"),
        FailureCount,
        said="One trial is one repetition of one case with one model.",
    ),
    Entry("wall clock", "wall_clock_ms", ("leaderboard", "resources"), GroupSummary),
    Entry(
        "input tokens",
        "tokens.input",
        ("leaderboard", "comparison", "resources"),
        TokenTotals,
        said="Prompt tokens, cached ones included; null where none was reported.",
    ),
    Entry(
        "output tokens",
        "tokens.output",
        ("leaderboard", "comparison", "resources"),
        TokenTotals,
        said="Generated tokens, reasoning included; null where none was reported.",
    ),
    Entry(
        "reasoning tokens",
        "tokens.reasoning",
        ("leaderboard", "resources"),
        TokenTotals,
        said="Part of the output tokens.",
    ),
    Entry(
        "cached tokens",
        "tokens.cached_input",
        ("leaderboard", "resources"),
        TokenTotals,
        said="Part of the input tokens.",
    ),
    Entry(
        "memory used",
        "resources_after.mem_used",
        ("resources",),
        ResourceSnapshot,
        said="As `free` said it, before the model's first trial and after its last.",
    ),
    Entry(
        "disk used",
        "resources_after.disk_root.use_pct",
        ("resources",),
        DiskRoot,
        said="As `df` said it of `/`, before the model's first trial and after its last.",
    ),
    Entry(
        "model store",
        "resources_after.ollama_store_du",
        ("resources",),
        ResourceSnapshot,
        said=(
            "Size of the store of local models, before the model's first trial and after its last."
        ),
    ),
)
"""In the order in which a reader meets them."""

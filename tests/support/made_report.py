"""A made-up report of any size, with every section filled: for tests of what is drawn from it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from schemas.base import Interval, PassK
from schemas.config.project import Thresholds
from schemas.output.comparison import (
    AxisReport,
    CaseChange,
    Comparison,
    ExcludedCase,
    GroupComparison,
    RateDifference,
    Ratio,
    Side,
    SideFacts,
    ThresholdsUsed,
)
from schemas.output.judges import Agreement, JudgeDrift, MeanWithLimits, VarianceSplit
from schemas.output.regressions import CellShift, Regressions, Series, SeriesSkipped, Shift
from schemas.output.report import (
    CheckCount,
    Doubt,
    FailureCount,
    FrontierPoint,
    HistoryPoint,
    LatencyBin,
    Matrix,
    MatrixCell,
    ModelAnswer,
    ModelProvenance,
    Provenance,
    ReportedRun,
    RunReport,
    TagRate,
    Term,
    TrialMark,
)
from schemas.output.report_judged import JudgeAnswers, JudgedParts, JudgedScore, ModelPreference
from schemas.output.report_steps import LoopCount, StepParts, StopCount, TimeSplit, ToolCount
from schemas.output.report_trials import DiffPart, Flip, Transcript, TranscriptPart, Transcripts
from schemas.output.summary import (
    GroupSummary,
    Percentiles,
    RunSummary,
    Supported,
    TokenTotals,
    ToolUse,
)
from schemas.run.inventory import DiskRoot, Host, ResourceSnapshot

LIMITS = ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None)
STARTED = 1_790_000_000_000
RUN_ID = "night_20260213_101112"
BASE_ID = "night_20260212_101108"
MODELS = ("tiny-135m", "small-1b", "mid-8b-instruct", "large-70b")

FAILED = (("timeout", "model", 2), ("connection_error", "infrastructure", 3))


@dataclass(frozen=True)
class Size:
    """How much is in a made-up report."""

    models: tuple[str, ...] = MODELS
    n_cases: int = 50
    n_repetitions: int = 5
    n_runs: int = 100
    has_baseline: bool = True
    n_transcripts: int = 8
    n_flips: int = 3
    answer: str = "The capital of France is Paris.\nIt lies on the Seine."


def made_report(size: Size | None = None) -> RunReport:
    """Return the same report for the same size."""
    return _Maker(size or Size()).report()


class _Maker:
    def __init__(self, size: Size) -> None:
        self.size = size
        self.random = random.Random(7)
        self.rates = {
            model: round(0.35 + 0.5 * n / max(len(size.models), 1), 3)
            for n, model in enumerate(size.models)
        }
        self.cases = [f"group_{n % 7}_case_{n:03}" for n in range(size.n_cases)]
        self.n_trials = size.n_cases * size.n_repetitions

    def report(self) -> RunReport:
        size = self.size
        has_baseline = size.has_baseline and bool(size.models)
        return RunReport(
            generated_at="2026-09-21T20:34:20.000Z",
            benchlake_version="0.1.0",
            run=self.run(RUN_ID),
            baseline=(self.run(BASE_ID),) if has_baseline else (),
            answer=tuple(self.answer(m) for m in sorted(size.models, key=lambda m: -self.rates[m])),
            doubts=self.doubts(),
            summary=RunSummary(
                generated_at="2026-09-21T20:34:20.000Z",
                run_id=RUN_ID,
                run_wall_clock_ms=260_000,
                models=tuple(self.group(model) for model in size.models),
            ),
            thresholds=Thresholds(),
            matrix=self.matrix(),
            comparison=self.comparison() if has_baseline else None,
            flips=self.flips() if has_baseline else (),
            history=self.history(),
            shifts=self.shifts() if size.n_runs > 1 and size.models else None,
            latency=self.latency(),
            frontier=tuple(self.frontier(model) for model in size.models),
            failures=self.failures(),
            tags=self.tags(),
            checks=self.checks(),
            judged=self.judged(),
            steps=self.steps(),
            transcripts=self.transcripts(),
            provenance=self.provenance(),
            glossary=GLOSSARY if size.models else (),
        )

    def run(self, run_id: str) -> ReportedRun:
        n = self.n_trials * len(self.size.models)
        return ReportedRun(
            run_id=run_id,
            suite_id="nightly",
            suite_title="Nightly questions",
            run_profile_id="five",
            started_at_ms=STARTED if n else None,
            wall_clock_ms=260_000 if n else None,
            labels=("nightly", "main"),
            is_imported=False,
            shard=None,
            benchlake_version="0.1.0",
            n_cases=self.size.n_cases,
            n_planned=n,
            n_total=n,
            n_scorable=n,
            n_scored=n,
            coverage=1.0 if n else None,
        )

    def answer(self, model: str) -> ModelAnswer:
        rate = self.rates[model]
        n = self.size.models.index(model) % 5
        changes = ("regressed", "improved", "unchanged", "inconclusive", "not_comparable")
        moves = (-0.12, 0.08, 0.0, 0.03, None)
        change, move = (changes[n], moves[n]) if self.size.has_baseline else (None, None)
        return ModelAnswer(
            provider="ollama_openai",
            model=f"{model}:q4",
            thinking_level="high" if n == 3 else None,
            model_id=model,
            passed_rate=rate,
            low=max(rate - 0.1, 0),
            high=min(rate + 0.09, 1),
            n_cases=self.size.n_cases,
            n_scored=self.n_trials,
            is_leading=rate >= max(self.rates.values()) - 0.15,
            change=change,
            difference=move,
            difference_low=None if move is None else move - 0.06,
            difference_high=None if move is None else move + 0.06,
            n_broke=4 if change == "regressed" else 0,
            n_fixed=2 if change == "improved" else 0,
        )

    def doubts(self) -> tuple[Doubt, ...]:
        if not self.size.models:
            return (
                Doubt(
                    code="missing_trials",
                    is_serious=True,
                    model_ids=(),
                    sentence="No trial of the plan has a result yet.",
                    command=f"collect run --resume {RUN_ID}",
                ),
            )
        first = self.size.models[0]
        last = self.size.models[-1]
        return (
            Doubt(
                code="coverage",
                is_serious=True,
                model_ids=(first,),
                sentence=f"Only 88.0 % of the trials of {first} have a verdict: its rate may be "
                "up to 12.0 points too high.",
                command=f"analyze show {RUN_ID} --failed",
            ),
            Doubt(
                code="unpinned_routing",
                is_serious=False,
                model_ids=(last,),
                sentence=f"A router chose who served {last}: 3 upstreams answered.",
                command=None,
            ),
            Doubt(
                code="late_client",
                is_serious=False,
                model_ids=(),
                sentence="The client was late by up to 240 ms: times are that much too long.",
                command="collect doctor",
            ),
            Doubt(
                code="reused",
                is_serious=False,
                model_ids=(first,),
                sentence=f"40 results of {first} were taken from an older run.",
                command=None,
            ),
        )

    def percentiles(self, base: float, n: int) -> Percentiles:
        if not n:
            return Percentiles(
                p50=None,
                p95=None,
                p99=None,
                mean=None,
                n=0,
                supported=Supported(p50=False, p95=False, p99=False),
            )
        return Percentiles(
            p50=base,
            p95=base * 2.2,
            p99=base * 4,
            mean=base * 1.2,
            n=n,
            supported=Supported(p50=n >= 10, p95=n >= 100, p99=n >= 500),
        )

    def interval(self, rate: float) -> Interval:
        return Interval(
            low=max(rate - 0.1, 0),
            high=min(rate + 0.09, 1),
            n_cases=self.size.n_cases,
            n_trials=self.n_trials,
            n_eff=80.0,
        )

    def group(self, model: str) -> GroupSummary:
        rate, n = self.rates[model], self.n_trials
        snapshot = ResourceSnapshot(
            path="resources",
            mem_used="4.1Gi",
            disk_root=DiskRoot(fs="/dev/a", size="50G", used="20G", avail="30G", use_pct="40%"),
            ollama_store_du="2.1G\t/store",
        )
        return GroupSummary(
            provider="ollama_openai",
            model=f"{model}:q4",
            thinking_level=None,
            n_total=n,
            n_ok=n,
            n_success=n,
            n_skipped_unavailable=1,
            n_rate_limited=2,
            n_error=0,
            n_auth_error=0,
            n_planned=n,
            n_scorable=n,
            success_rate_ok=0.98,
            objective_pass_rate=rate,
            wall_clock_ms=200_000,
            latency_ms=self.percentiles(1234.0, n),
            ttft_ms=self.percentiles(210.0, n),
            resources_before=snapshot,
            resources_after=snapshot,
            model_id=model,
            passed_rate=rate,
            passed_ci95=self.interval(rate),
            score_strict=rate * 0.98,
            score_available=rate,
            coverage=0.98,
            tokens=TokenTotals(
                input=1_234_567, output=45_678, reasoning=None, cached_input=None, n_known=n
            ),
            cost_usd=0.0123 * (1 + self.size.models.index(model)),
            n_cost_known=n,
            output_tokens_per_s=41.7,
            tool_use=ToolUse(
                n=40,
                rate=rate,
                ci95=self.interval(rate),
                tier=2,
                tier_label="Tier 2 (Tool-Capable but Inconsistent)",
                tier_confident=False,
            ),
            repetitions=self.size.n_repetitions,
            repetitions_identical=False,
            pass_at_k=(),
            pass_hat_k=(),
            n_timeout=2,
            failures={"timeout": 2, "connection_error": 3},
        )

    def matrix(self) -> Matrix:
        cells = []
        for n, case in enumerate(self.cases):
            for model in self.size.models:
                chance = min(self.rates[model] * 0.6 + n / max(len(self.cases), 1), 1)
                marks: list[TrialMark] = [
                    "passed" if self.random.random() < chance else "failed"
                    for _ in range(self.size.n_repetitions)
                ]
                if self.random.random() < 0.04:
                    marks[-1] = "no_verdict"
                if self.random.random() < 0.04:
                    marks[0] = "missing"
                n_passed = marks.count("passed")
                n_scored = n_passed + marks.count("failed")
                cells.append(
                    MatrixCell(
                        case_id=case,
                        model_id=model,
                        marks=tuple(marks),
                        n_planned=len(marks),
                        n_scored=n_scored,
                        n_passed=n_passed,
                        passed_rate=n_passed / n_scored if n_scored else None,
                    )
                )
        n_cases = len(self.cases) if cells else 0
        return Matrix(n_cases=n_cases, n_shown=n_cases, cells=tuple(cells))

    def side(self, model: str, run_id: str, rate: float) -> SideFacts:
        n = self.n_trials
        return SideFacts(
            model_id=model,
            run_ids=(run_id,),
            n_cases=self.size.n_cases,
            n_planned=n,
            n_scorable=n,
            n_total=n,
            n_reused=0,
            n_scored=n,
            n_passed=int(n * rate),
            n_timeout=2,
            passed_rate=rate,
            ci95=self.interval(rate),
            score_strict=rate * 0.98,
            score_upper=min(rate * 1.02, 1),
            score_available=rate,
            coverage=0.98,
            timeout_share=0.01,
            causes={"infrastructure": 3},
            served_models=(model,),
            pass_at_k=(PassK(k=5, value=0.9, ci95=None, n_cases=40, n_cases_short=0),),
            pass_hat_k=(PassK(k=5, value=0.3, ci95=None, n_cases=40, n_cases_short=0),),
        )

    def comparison(self) -> Comparison:
        groups = []
        for model in self.size.models:
            answer = self.answer(model)
            move = answer.difference
            base = min(max(self.rates[model] - (move or 0), 0), 1)
            difference = None
            if move is not None:
                difference = RateDifference(
                    test="sign_flip_mid_p",
                    n_cases=self.size.n_cases,
                    n_nonzero=12,
                    base_rate=base,
                    candidate_rate=self.rates[model],
                    difference=move,
                    low=move - 0.06,
                    high=move + 0.06,
                    low90=move - 0.05,
                    high90=move + 0.05,
                    p=0.012,
                    q=0.024,
                    detectable=0.07,
                    is_borderline=False,
                    cases_needed=None,
                )
            ratio = Ratio(
                metric="e2e_ms",
                n_cases=self.size.n_cases,
                ratio=1.31,
                low=1.2,
                high=1.43,
                low90=1.22,
                high90=1.41,
                p=0.0001,
                q=0.0002,
                left_out_base=0.01,
                left_out_candidate=0.02,
                totals_ratio=1.29,
                verdict="regressed",
                reason=None,
            )
            groups.append(
                GroupComparison(
                    provider="ollama_openai",
                    model=model,
                    thinking_level=None,
                    model_id=model,
                    candidate_provider="ollama_openai",
                    candidate_model=model,
                    candidate_thinking_level=None,
                    candidate_model_id=model,
                    verdict=answer.change or "inconclusive",
                    reasons=("coverage 88.0 % of this run is below 95.0 %",)
                    if answer.change == "not_comparable"
                    else (),
                    warnings=(),
                    base=self.side(model, BASE_ID, base),
                    candidate=self.side(model, RUN_ID, self.rates[model]),
                    difference=difference,
                    ratios=(ratio,),
                )
            )
        return Comparison(
            base=Side(asked="previous", run_ids=(BASE_ID,), model=None),
            candidate=Side(asked=RUN_ID, run_ids=(RUN_ID,), model=None),
            allowed=(),
            limits=LIMITS,
            axes=(
                AxisReport(
                    axis="settings",
                    is_allowed=False,
                    n_differ=4,
                    n_same=100,
                    n_unknown=0,
                    base=("a" * 64,),
                    candidate=("b" * 64,),
                    model_ids=self.size.models[:1],
                ),
            ),
            excluded=tuple(
                ExcludedCase(
                    model_id=self.size.models[0],
                    suite_id="nightly",
                    case_id=case,
                    reason="axis_differs",
                    axes=("settings",),
                )
                for case in self.cases[:4]
            ),
            unmatched=(),
            groups=tuple(groups),
            overall=None,
            tags=(),
            cases=tuple(
                self.change(case, model)
                for case in self.cases[4:40]
                for model in self.size.models[:1]
            ),
        )

    def change(self, case: str, model: str) -> CaseChange:
        return CaseChange(
            suite_id="nightly",
            case_id=case,
            model_id=model,
            candidate_model_id=model,
            base_passed=4,
            base_scored=5,
            candidate_passed=1,
            candidate_scored=5,
            difference=-0.6,
            flip="broke",
            commands=(f"analyze show {BASE_ID} {case}",),
        )

    def flips(self) -> tuple[Flip, ...]:
        model = self.size.models[0]
        return tuple(
            Flip(
                suite_id="nightly",
                case_id=case,
                model_id=model,
                candidate_model_id=model,
                flip="broke" if n % 2 == 0 else "fixed",
                base_passed=5,
                base_scored=5,
                candidate_passed=1,
                candidate_scored=5,
                base_run_id=BASE_ID,
                base_repetition=1,
                base_answer=self.size.answer,
                candidate_run_id=RUN_ID,
                candidate_repetition=1,
                candidate_answer=self.size.answer,
                is_cut=False,
                diff=(
                    DiffPart(kind="same", text="The capital of France is "),
                    DiffPart(kind="base", text="Paris."),
                    DiffPart(kind="candidate", text="Lyon, I believe."),
                    DiffPart(kind="same", text=" " + self.size.answer),
                ),
                commands=(f"analyze show {BASE_ID} {case}", f"analyze show {RUN_ID} {case}"),
            )
            for n, case in enumerate(self.cases[: self.size.n_flips])
        )

    def history(self) -> tuple[HistoryPoint, ...]:
        size = self.size
        if size.n_runs < 2:
            return ()
        points = []
        for n in range(size.n_runs):
            is_last = n == size.n_runs - 1
            for model in size.models:
                rate = min(max(self.rates[model] + self.random.gauss(0, 0.03), 0), 1)
                points.append(
                    HistoryPoint(
                        run_id=RUN_ID if is_last else f"night_{n:03}",
                        started_at_ms=STARTED - (size.n_runs - 1 - n) * 86_400_000,
                        model_id=model,
                        passed_rate=rate,
                        low=max(rate - 0.1, 0),
                        high=min(rate + 0.1, 1),
                        coverage=0.98,
                        n_scored=self.n_trials,
                        e2e_ms_p50=1200.0,
                        is_this_run=is_last,
                    )
                )
        return tuple(points)

    def shifts(self) -> Regressions:
        model = self.size.models[0]
        run = f"night_{self.size.n_runs // 2:03}"
        shift = Shift(
            series=Series(
                suite_id="nightly",
                model_id=model,
                metric="passed_rate",
                provider="ollama_openai",
                model=model,
                thinking_level=None,
            ),
            method="scan",
            direction="down",
            is_worse=True,
            first_run=run,
            first_started_at_ms=STARTED,
            last_run_before="night_001",
            seen_in=run,
            n_before=50,
            n_after=49,
            n_cases=50,
            before=0.5,
            after=0.4,
            size=-0.1,
            low=-0.14,
            high=-0.06,
            p=0.0004,
            changed=("model_build",),
            together=(),
            cells=(),
            warnings=(),
            acknowledged=None,
        )
        cell = CellShift(
            suite_id="nightly",
            model_id=model,
            case_id=self.cases[0],
            direction="up",
            is_worse=False,
            first_bad_run=run,
            last_run_before="night_001",
            n_runs=99,
            before_passed=10,
            before_scored=250,
            after_passed=200,
            after_scored=245,
            p=0.0001,
            q=0.001,
            changed=(),
            warnings=(),
            acknowledged=None,
        )
        skipped = SeriesSkipped(
            suite_id="nightly", model_id=model, metric="cost_usd", why="its cost is not known"
        )
        return Regressions(
            limits=LIMITS,
            since=None,
            n_runs=self.size.n_runs,
            n_series=8,
            n_cells=200,
            shifts=(shift,),
            cell_shifts=(cell,),
            skipped=(skipped,),
            unused=(),
        )

    def latency(self) -> tuple[LatencyBin, ...]:
        return tuple(
            LatencyBin(
                model_id=model,
                metric=metric,
                bin_from_ms=int(100 * 1.5**n),
                bin_to_ms=int(100 * 1.5 ** (n + 1)),
                n_trials=1 + (n * 7) % 13,
            )
            for metric in ("e2e_ms", "ttft_ms")
            for model in self.size.models
            for n in range(8)
        )

    def frontier(self, model: str) -> FrontierPoint:
        rate, n = self.rates[model], 1 + self.size.models.index(model)
        return FrontierPoint(
            model_id=model,
            n_scored=self.n_trials,
            passed_rate=rate,
            low=max(rate - 0.1, 0),
            high=min(rate + 0.09, 1),
            cost_usd_per_scored=0.0004 * n,
            cost_low=0.0003 * n,
            cost_high=0.0005 * n,
            e2e_ms_mean=900.0 * n,
            e2e_ms_low=800.0 * n,
            e2e_ms_high=1000.0 * n,
            is_on_frontier=True,
            is_on_time_frontier=None,
        )

    def failures(self) -> tuple[FailureCount, ...]:
        return tuple(
            FailureCount(
                model_id=model,
                failure_type=kind,
                cause=cause,
                counts_against_model=cause == "model",
                n_trials=n,
            )
            for model in self.size.models
            for kind, cause, n in FAILED
        )

    def checks(self) -> tuple[CheckCount, ...]:
        return tuple(
            CheckCount(
                model_id=model, check_id="file_written", kind="path_exists", n_cases=4,
                n_trials=20, n_passed=17 - n, n_failed=n, n_errors=3,
            )
            for n, model in enumerate(self.size.models)
        )  # fmt: skip

    def tags(self) -> tuple[TagRate, ...]:
        interval = Interval(low=0.3, high=0.7, estimate=0.5, n_cases=9, n_trials=45, n_eff=20.0)
        return tuple(
            TagRate(
                tag=tag, model_id=model, n_cases=9, n_scored=45, passed_rate=self.rates[model],
                passed_ci95=interval,
            )
            for tag in ("arithmetic", "reading")
            for model in self.size.models
        )  # fmt: skip

    def judged(self) -> JudgedParts | None:
        if not self.size.models:
            return None
        return JudgedParts(
            scores=tuple(
                JudgedScore(
                    model_id=model,
                    evaluation_profile_id=profile,
                    is_own=profile == "strict",
                    decides=profile == "strict",
                    n_judged=40,
                    n_failed=2,
                    n_units=20,
                    score=6.5,
                    score_low=5.75,
                    score_high=7.25,
                    n_decided=38,
                    n_passed=19,
                    soft_score=0.5,
                )
                for profile in ("strict", "kind")
                for model in self.size.models
            ),
            preferences=tuple(
                ModelPreference(
                    model_id=model,
                    evaluation_profile_id="strict",
                    other_run_id=BASE_ID,
                    other_model_id=model,
                    n_compared=40,
                    n_won=14,
                    n_tied=17,
                    n_lost=6,
                    n_identical=3,
                    n_cannot_say=2,
                    n_failed=1,
                    n_units=20,
                    share=0.61,
                    share_ci95=self.interval(0.61),
                    n_comparisons=37,
                    n_flips_to_first=5,
                    n_flips_to_second=1,
                    n_longer_won=13,
                    n_shorter_won=7,
                )
                for model in self.size.models
            ),
            judges=(
                JudgeAnswers(
                    evaluation_profile_id="strict",
                    judge_id="main",
                    question="score",
                    n_asked=120,
                    n_answered=112,
                    n_refusal=1,
                    n_invalid=4,
                    n_truncated=2,
                    n_no_response=0,
                    n_judge_down=1,
                    cost_usd=0.25,
                    n_cost_known=118,
                ),
            ),
            agreement=(
                Agreement(
                    evaluation_profile_id="strict",
                    scope="between",
                    of="score",
                    judge_run_ids=("main", "second"),
                    judge_ids=("main", "second"),
                    alpha=0.72,
                    alpha_low=0.64,
                    alpha_high=0.79,
                    n_units=40,
                    n_cases=20,
                    n_cannot_say=0,
                    bias=MeanWithLimits(mean=-0.72, low=-0.91, high=-0.53, n_units=20),
                    mean_absolute_difference=1.03,
                    within_one_point=0.72,
                ),
            ),
            variance=tuple(
                VarianceSplit(
                    evaluation_profile_id="strict",
                    judge_run_id="main",
                    judge_id="main",
                    model_id=model,
                    n_cases=20,
                    n_trials=40,
                    n_scores=120,
                    case_sd=1.4,
                    agent_sd=0.6,
                    judge_sd=0.9,
                )
                for model in self.size.models
            ),
            drift=(
                JudgeDrift(
                    evaluation_profile_id="strict",
                    judge_run_id="main",
                    judge_id="main",
                    n_trials=40,
                    n_cases=20,
                    first_at_ms=1,
                    last_at_ms=2,
                    first_models=("judge-1",),
                    last_models=("judge-2",),
                    difference=MeanWithLimits(mean=-0.4, low=-0.7, high=-0.1, n_units=20),
                    verdict="drifted",
                ),
            ),
        )

    def steps(self) -> StepParts | None:
        if not self.size.models:
            return None
        return StepParts(
            stops=tuple(
                StopCount(
                    model_id=model, stop=stop, stop_detail=detail, n_trials=n, n_passed=n // 2
                )
                for model in self.size.models
                for stop, detail, n in (("finished", None, 40), ("limit", "max_turns_exceeded", 3))
            ),
            times=tuple(
                TimeSplit(
                    model_id=model,
                    n_trials=43,
                    total_ms=100_000,
                    setup_ms=1_000,
                    model_ms=70_000,
                    tool_ms=20_000,
                    retry_ms=0,
                    idle_ms=9_000,
                )
                for model in self.size.models
            ),
            tools=tuple(
                ToolCount(
                    model_id=model,
                    tool=tool,
                    n_cases=20,
                    n_calls=n,
                    n_results=n,
                    n_errors=n // 4,
                    n_refused=1,
                    n_exit_codes=n // 8,
                    n_truncated=2,
                    duration_ms=n * 100,
                    error_rate=0.25,
                    error_rate_low=0.125,
                    error_rate_high=0.5,
                )
                for model in self.size.models
                for tool, n in (("exec_shell", 160), ("read_file", 80))
            ),
            loops=tuple(
                LoopCount(
                    model_id=model,
                    tool="exec_shell",
                    n_loops=2,
                    n_trials=2,
                    n_calls=12,
                    tool_ms=1_200,
                    model_ms=9_000,
                    input_tokens=12_000,
                    output_tokens=600,
                    cost_usd=0.01,
                )
                for model in self.size.models
            ),
            n_left_out=0,
        )

    def transcripts(self) -> Transcripts:
        shown = []
        for n in range(self.size.n_transcripts if self.size.models and self.cases else 0):
            case = self.cases[n % len(self.cases)]
            model = self.size.models[n % len(self.size.models)]
            shown.append(self.transcript(n, case, model))
        return Transcripts(
            shown=tuple(shown),
            n_trials=self.n_trials * len(self.size.models),
            n_not_passed=120 if self.size.models else 0,
            n_left_out=max(self.n_trials * len(self.size.models) - len(shown), 0),
            budget_bytes=100_000,
            command=f"analyze show {RUN_ID} --failed",
        )

    def transcript(self, n: int, case: str, model: str) -> Transcript:
        why = ("flipped", "failed", "other")[min(n // 3, 2)]
        parts = [
            TranscriptPart(
                kind="message",
                name="user",
                text="What is the capital of France?",
                is_error=False,
                after_ms=0,
                n_left_out=0,
            ),
            TranscriptPart(
                kind="tool_call",
                name="exec_shell",
                text='{"command": "cat notes.txt | head"}',
                is_error=False,
                after_ms=310,
                n_left_out=0,
            ),
            TranscriptPart(
                kind="tool_result",
                name="exec_shell",
                text="cat: notes.txt: no such file",
                is_error=True,
                after_ms=345,
                n_left_out=900,
            ),
            TranscriptPart(
                kind="final_output",
                name="assistant",
                text=self.size.answer,
                is_error=False,
                after_ms=1234,
                n_left_out=0,
            ),
        ]
        return Transcript(
            run_id=RUN_ID,
            model_id=model,
            case_id=case,
            repetition=1 + n // max(len(self.cases), 1),
            why=why,
            is_baseline=False,
            verdict="did not pass" if why != "sampled" else "passed",
            passed=why == "sampled",
            facts=(("time", "1,234 ms"), ("tokens", "31 in, 9 out"), ("cost", "0.0004 USD")),
            judged=("expected: exact Paris", "came: Lyon"),
            parts=tuple(parts),
            n_parts_left_out=0,
            missing=None,
            command=f"analyze show {RUN_ID} {case}",
        )

    def provenance(self) -> Provenance:
        return Provenance(
            host=Host(
                uname="Linux 6.1 x86_64", python="3.11.7", cpu_count=8, memory_bytes=17_179_869_184
            ),
            versions={"benchlake": "0.1.0", "ollama": "0.12.3", "git": "2.39"},
            models=tuple(
                ModelProvenance(
                    provider="ollama_openai",
                    model_id=model,
                    model=f"{model}:q4",
                    thinking_level=None,
                    base_url="http://localhost:11434/v1",
                    served_models=(model,),
                    served_providers=(),
                    model_build="c" * 64,
                    harness_version=None,
                    routing=None,
                    settings={"temperature": "0.7"},
                )
                for model in self.size.models
            ),
            suite_path="configs/suites/nightly.yaml",
            config_files={f"configs/cases/{case}/test.yaml": "d" * 64 for case in self.cases},
            config_commit="e" * 40,
            is_config_dirty=True,
            warnings=("case group_0_case_000 has no validator",),
            limits=LIMITS,
            commands=(
                f"analyze report --run {RUN_ID}",
                f"analyze compare {BASE_ID} {RUN_ID}",
                "analyze regressions --suite nightly",
                "analyze runs --suite nightly",
            ),
        )


GLOSSARY = tuple(
    Term(
        name=name,
        field=field,
        meaning="Passed among trials with a verdict, averaged in the way that is told here.",
        formula="n_passed / n_scored",
        source="docs/metrics.md",
    )
    for name, field in (
        ("passed %", "passed_rate"),
        ("strict %", "score_strict"),
        ("available %", "score_available"),
        ("coverage %", "coverage"),
        *((f"number {n}", f"field_{n}") for n in range(36)),
    )
)

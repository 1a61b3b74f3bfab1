"""What notebooks and scripts ask of a history beyond its rows: comparisons, shifts, sizes.

The same as the commands of those names, and what they print as JSON, as typed records.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.query.run_ref import model_for, require_known, resolve_run
from analyze.query.session import Session

if TYPE_CHECKING:
    from analyze.power.plan import PowerAnswer
    from schemas.config.known_issues import KnownFile
    from schemas.output.comparison import Axis, Comparison, Metric, ThresholdsUsed
    from schemas.output.judges import JudgesReport
    from schemas.output.regressions import Flaky, GateResult, Regressions


class Verdicts:
    """The part of a history that judges; `History` is one.

    Thresholds are those in force in the working directory unless `limits` are given. A file of
    known shifts and quarantined cases may be given as its path or as its record.
    """

    _session: Session

    def compare(
        self,
        base: str,
        candidate: str | None = None,
        *,
        model: str | None = None,
        against: str | None = None,
        allow: Collection[Axis] = (),
        by_tag: bool = False,
        known: Path | KnownFile | None = None,
        limits: ThresholdsUsed | None = None,
    ) -> Comparison:
        """Return what a candidate is beside a base.

        Args:
            base: a run id, a path, `latest`, `previous`, `label:NAME`, `last:N`, or several of
                these with commas between; or `history`, which is `last:7`.
            candidate: the same but `history`; `latest` unless given, and with `against` the base's
                runs.
            model: only this one, by its model_id, model string or label.
            against: the candidate's model, where two models are compared.
            allow: axes on which a difference keeps no case out, such as `settings`.
            by_tag: add the differences of every tag.
            known: shifts that are acknowledged, for `last:N` and `history`.
            limits: thresholds, and where they are from.

        Raises:
            RunNotFound: there is no such run; names the nearest.
            ConfigError: a side means nothing, both mean the same, or there is no such axis.
        """
        from analyze.comparison.axes import axes_named  # noqa: PLC0415 - asked for by this alone
        from analyze.comparison.compare import compare  # noqa: PLC0415 - loads the records
        from analyze.comparison.evidence.read import read_evidence  # noqa: PLC0415 - as above
        from analyze.gate.base_runs import resolve_compared  # noqa: PLC0415 - as above

        used, allowed = limits or _limits(), axes_named(allow)
        sides = resolve_compared(
            self._session,
            base,
            candidate,
            limits=used.thresholds,
            model=model_for(self._session, model),
            against=model_for(self._session, against),
            allow=allowed,
            known=known_of(known),
        )
        return compare(
            read_evidence(self._session, *sides),
            limits=used,
            allow=allowed,
            by="tag" if by_tag else "model",
        )

    def gate(
        self,
        candidate: str = "latest",
        *,
        baseline: str = "previous",
        metrics: Collection[Metric] = (),
        max_drop: float = 0.0,
        min_coverage: float | None = None,
        prove: bool = False,
        confirm: str | None = None,
        known: Path | KnownFile | None = None,
        quarantine: Path | KnownFile | None = None,
        allow: Collection[Axis] = (),
        model: str | None = None,
        today: date | None = None,
        limits: ThresholdsUsed | None = None,
    ) -> GateResult:
        """Return whether any model has become worse than its baseline.

        Args:
            candidate: the run to judge.
            baseline: a run, `previous`, `label:NAME`, `last:N` or `history`.
            metrics: what is judged, the passed rate unless given; times and costs as ratios.
            max_drop: drop that is tolerated, 0.02 is 2 points; of a ratio the growth.
            min_coverage: share of trials that need a verdict; by default the thresholds'.
            prove: pass only when a larger drop is ruled out.
            confirm: a fresh, whole run that must fail too.
            known: cases that are not tested, and shifts that are acknowledged.
            quarantine: another name of `known`.
            allow: axes on which a difference keeps no case out.
            model: only this one, by its model_id, model string or label.
            today: day by which entries of the quarantine have ended; by default this one, in UTC.
            limits: thresholds, and where they are from.

        Raises:
            RunNotFound: there is no such run; names the nearest.
            ConfigError: the question makes no sense, or a file is wrong.
        """
        from analyze.comparison.axes import axes_named, metrics_named  # noqa: PLC0415 - as in `compare`
        from analyze.gate.decide import Question, decide  # noqa: PLC0415 - loads the records
        from schemas.output.regressions import GateRules  # noqa: PLC0415 - as above

        used = limits or _limits()
        least = used.thresholds.min_coverage if min_coverage is None else min_coverage
        question = Question(
            rules=GateRules(
                metrics=metrics_named(metrics), max_drop=max_drop, min_coverage=least, prove=prove
            ),
            limits=used,
            candidate=candidate,
            baseline=baseline,
            model=model_for(self._session, model),
            confirm=confirm,
            allow=axes_named(allow),
            known=known_of(known if quarantine is None else quarantine),
        )
        return decide(self._session, question, today or datetime.now(UTC).date()).result

    def regressions(
        self,
        *,
        since: str | None = None,
        suite: str | None = None,
        model: str | None = None,
        known: Path | KnownFile | None = None,
        allow: Collection[Axis] = (),
        limits: ThresholdsUsed | None = None,
    ) -> Regressions:
        """Return every level shift of this history.

        Args:
            since: a run, `label:NAME`, a day or a span such as `7d`: only shifts since then.
            suite: only this one.
            model: only this one, by its model_id, model string or label.
            known: shifts that need no alert.
            allow: `case` takes cases by their id, whatever their content.
            limits: thresholds, and where they are from.

        Raises:
            ConfigError: there is no such suite, model or time, or the file is wrong.
        """
        from analyze.comparison.axes import axes_named  # noqa: PLC0415 - as in `compare`
        from analyze.regressions.alerts import find_regressions  # noqa: PLC0415 - loads numpy

        model = model_for(self._session, model)
        require_known(self._session, suite, model)
        return find_regressions(
            self._session,
            limits=limits or _limits(),
            since=since,
            allow=axes_named(allow),
            known=known_of(known),
            suite=suite,
            model=model,
        )

    def judges(
        self,
        *runs: str,
        evaluation_profile: str | None = None,
        labels: Path | None = None,
        model: str | None = None,
    ) -> JudgesReport:
        """Return how far the judges of runs can be believed.

        Args:
            runs: run ids, paths, `latest`, `previous` or `label:NAME`, all together; by default
                the newest run.
            evaluation_profile: only its judges.
            labels: CSV file of what people say of trials.
            model: only what they said of this one, by its model_id, model string or label.

        Raises:
            RunNotFound: there is no such run; names the nearest.
            ConfigError: no judge of that profile has said anything about them, or a label is wrong.
        """
        from analyze.judges.report import judges_report  # noqa: PLC0415 - loads numpy

        run_ids = [resolve_run(self._session, one) for one in runs or ("latest",)]
        return judges_report(
            self._session,
            list(dict.fromkeys(run_ids)),
            evaluation_profile,
            labels,
            model=model_for(self._session, model),
        )

    def flaky(
        self,
        *,
        suite: str | None = None,
        model: str | None = None,
        quarantine: Path | KnownFile | None = None,
        limits: ThresholdsUsed | None = None,
    ) -> Flaky:
        """Return how often trials of each cell disagree, flaky cells first.

        Args:
            suite: only this one.
            model: only this one, by its model_id, model string or label.
            quarantine: cases that are marked.
            limits: thresholds, and where they are from.

        Raises:
            ConfigError: there is no such suite or model, or the file is wrong.
        """
        from analyze.regressions.flaky import find_flaky  # noqa: PLC0415 - loads scipy

        model = model_for(self._session, model)
        require_known(self._session, suite, model)
        return find_flaky(
            self._session,
            limits=limits or _limits(),
            known=known_of(quarantine),
            suite=suite,
            model=model,
        )

    def power(
        self,
        *,
        suite: str | None = None,
        run: str | None = None,
        model: str | None = None,
        cases: int | None = None,
        repetitions: int | None = None,
        difference: float | None = None,
        limits: ThresholdsUsed | None = None,
    ) -> PowerAnswer:
        """Return which differences runs of a size show, and which size a difference needs.

        Args:
            suite: learn from its last runs.
            run: newest run to learn from; not together with `suite`.
            model: only this one, by its model_id, model string or label.
            cases: instead of the suite's.
            repetitions: instead of the run's.
            difference: to be shown, 0.05 is 5 points; by default the margin.
            limits: thresholds, and where they are from.

        Raises:
            RunNotFound: there is no such run; names the nearest.
            ConfigError: there is no such suite or model.
        """
        from analyze.power.plan import PowerQuestion, plan_power  # noqa: PLC0415 - as above

        question = PowerQuestion(
            suite, run, model_for(self._session, model), cases, repetitions, difference
        )
        return plan_power(self._session, question, (limits or _limits()).thresholds)


def _limits() -> ThresholdsUsed:
    from analyze.query.thresholds import limits_in_force  # noqa: PLC0415 - loads pydantic

    return limits_in_force(Path.cwd())


def known_of(known: Path | KnownFile | None) -> KnownFile | None:
    """Return what people know already, from a file or as it is."""
    if not isinstance(known, Path):
        return known
    from analyze.gate.known_issues import read_known  # noqa: PLC0415 - reads YAML

    return read_known(known)

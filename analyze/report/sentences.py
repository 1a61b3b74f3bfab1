"""The answer of a report in sentences, the same for HTML, Markdown and whoever reads one line.

Plain text with names from outside unescaped: each printer escapes them for its output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.comparison.document import ORDER, WORDS, between, ratios_in_short
from analyze.contracts.trials import RunsRow
from analyze.render.numbers import (
    in_cases,
    moment,
    percent,
    points,
    signed_points,
    some,
    strict_after,
    whole,
)
from schemas.base import is_apart
from schemas.errors import counted
from schemas.output.comparison import Verdict
from schemas.output.report import ModelAnswer, ReportedRun, RunReport

MAX_NAMED_MODELS = 3
"""Models in a headline; below it they are all there."""

LOUD: tuple[Verdict, ...] = ("regressed", "improved")
"""Verdicts that a headline begins with."""

LACKS = "the baseline lacks it"


def headline_of(report: RunReport) -> str:
    """Return one sentence that answers: what changed, which models, how good, how sure.

    It begins with rates that fell and have not recovered, then with what changed since the
    baseline.
    """
    standing = _standing(report.answer)
    if report.baseline and report.answer:
        base = runs_named(report.baseline)
        news = ", ".join(_changes(report.answer, LOUD))
        others = ", ".join(_changes(report.answer, [one for one in ORDER if one not in LOUD]))
        if absent := [answer.model_id for answer in report.answer if answer.change is None]:
            others = ", ".join(filter(None, [others, f"{_some(absent)} not in it"]))
        parts = [f"{news} since {base}", standing, others] if news else [standing, others]
        if not news:
            parts[-1] = f"against {base}: {others}"
    else:
        parts = [standing]
    fallen = [
        f"{one.series.model_id} fell {points(one.size)} points since {one.first_run}"
        for one in report.open_shifts
        if one.series.metric == "passed_rate" and one.last_asked_in is None
    ]
    if fallen:
        parts.insert(0, _some(fallen))
    if n_others := len(report.open_shifts) - len(fallen):
        what = "more open shift" if fallen else "open shift"
        parts.append(f"with {counted(n_others, what)}")
    if n_serious := sum(doubt.is_serious for doubt in report.doubts):
        parts.append(f"with {counted(n_serious, 'serious doubt')}")
    return "; ".join(filter(None, parts)) + "."


def change_sentence(answer: ModelAnswer) -> str:
    """Return what changed for one model since the baseline: `regressed by 18.0 points (...)`.

    Rates that cannot be compared are not put side by side: an outage is no worse model.
    """
    if answer.change is None:
        return LACKS
    if answer.change == "not_comparable":
        return "not comparable with the baseline"
    if answer.change == "inconclusive" and answer.difference is None:
        return ": ".join(filter(None, [WORDS[answer.change], answer.change_why]))
    sentence = _changed_by(answer.change, answer)
    if answer.difference_low is not None and answer.difference_high is not None:
        sentence += f" (95 % {between(answer.difference_low, answer.difference_high)})"
    if _is_borderline(answer):
        sentence += ", borderline"
    elif answer.change == "inconclusive" and answer.difference != 0:
        sentence += ", which may be chance"
    flips = [
        f"{counted(number, 'case')} {what}"
        for number, what in ((answer.n_broke, "broke"), (answer.n_fixed, "fixed"))
        if number
    ]
    return "; ".join([sentence, ", ".join(flips)]) if flips else sentence


def ratio_changes(report: RunReport) -> dict[str, str]:
    """Return what else changed for each model, its times and costs; models without are left out."""
    groups = report.comparison.groups if report.comparison else ()
    changes = {
        group.candidate_model_id: ratios_in_short(group)
        for group in groups
        if group.verdict != "not_comparable"
    }
    return {model_id: words for model_id, words in changes.items() if words}


def runs_named(runs: Sequence[ReportedRun]) -> str:
    """Return the runs of a baseline in words."""
    first, *others = runs
    if not others:
        return first.run_id
    return f"{whole(len(runs))} runs, {first.run_id} to {others[-1].run_id}"


def origin_of(run: ReportedRun | RunsRow) -> str:
    """Return which run a picture is of, for one that is passed on without its page."""
    began = moment(run.started_at_ms)
    return " · ".join(filter(None, (run.suite_id, run.run_id, f"{began} UTC" if began else "")))


def command_of(report: RunReport, name: str) -> str:
    """Return the first command of a name that a report was given; empty without one."""
    found = (one for one in report.provenance.commands if one.split()[1:2] == [name])
    return next(found, "")


def _how_good(answer: ModelAnswer) -> str:
    cases = in_cases(answer.n_cases, answer.n_clusters)
    trials = f"{counted(answer.n_scored, 'trial')} in {cases}"
    return f"passed {percent(answer.passed_rate)} % of {trials}{_interval(answer)}{_strict(answer)}"


def _strict(answer: ModelAnswer) -> str:
    """Return the strict rate, where some trials have no verdict."""
    strict = strict_after(answer.score_strict, answer.coverage)
    return f"{strict} %" if strict else ""


def _interval(answer: ModelAnswer) -> str:
    if answer.low is None or answer.high is None:
        return ""
    is_other = is_apart(answer.passed_rate, answer.estimate)
    mean = f"case mean {percent(answer.estimate)} %, " if is_other else ""
    return f" ({mean}95 % interval {percent(answer.low)} to {percent(answer.high)})"


def _standing(answers: Sequence[ModelAnswer]) -> str:
    """Return which model is best, which may be as good, and how many are not ranked."""
    rated = [answer for answer in answers if answer.passed_rate is not None]
    if not answers:
        return "No model was asked anything"
    if not rated:
        return f"No trial of {_some([answer.model_id for answer in answers])} has a verdict"
    ranked = [answer for answer in rated if answer.is_ranked]
    if len(rated) == 1 or len(ranked) == 1:
        sentence = f"{rated[0].model_id} {_how_good(rated[0])}"
    else:
        sentence = _best(ranked) if ranked else _most(rated)
    n_unranked = len(rated) - len(ranked) if ranked else 0
    n_silent = len(answers) - len(rated)
    for number, what in (
        (n_unranked, "too few cases or verdicts to be ranked"),
        (n_silent, "no verdict"),
    ):
        if number:
            sentence += (
                f"; {counted(number, 'other model')} {'has' if number == 1 else 'have'} {what}"
            )
    return sentence


def _most(rated: Sequence[ModelAnswer]) -> str:
    """Return which of several models passed most, none of which may be named best."""
    first = [answer for answer in rated if answer.passed_rate == rated[0].passed_rate]
    names, rate = _some([answer.model_id for answer in first]), percent(first[0].passed_rate)
    each = f"{' each' if len(first) > 1 else ''}{_intervals(first)}"
    strict = "" if len(first) > 1 else _strict(first[0])
    rank = "" if len(first) == len(rated) else f", the highest rate of {whole(len(rated))} models"
    sentence = f"{names} passed {rate} %{each}{strict}{rank}"
    return f"{sentence}; too few cases or verdicts to name one best"


def _best(rated: Sequence[ModelAnswer]) -> str:
    """Return which of several models is best; models with the very same rate are so together.

    Args:
        rated: those that can be ranked, best passed rate first.
    """
    best = [answer for answer in rated if answer.passed_rate == rated[0].passed_rate]
    names, rate = _some([answer.model_id for answer in best]), percent(best[0].passed_rate)
    each = f"{' each' if len(best) > 1 else ''}{_intervals(best)}"
    each += "" if len(best) > 1 else _strict(best[0])
    if len(best) == len(rated):
        return f"{names} passed {rate} %{each}"
    sentence = (
        f"{names} {'are' if len(best) > 1 else 'is'} best of {whole(len(rated))} models with "
    )
    sentence += f"{rate} % passed{each}"
    rivals = [
        f"{answer.model_id} ({percent(answer.passed_rate)} %)"
        for answer in rated[len(best) :]
        if answer.is_leading
    ]
    return f"{sentence}, and {_some(rivals)} may be as good" if rivals else sentence


def _intervals(best: Sequence[ModelAnswer]) -> str:
    """Return the interval of models with one rate, or what all of theirs lie within."""
    lows = [answer.low for answer in best if answer.low is not None]
    highs = [answer.high for answer in best if answer.high is not None]
    if len(lows) < len(best) or len(highs) < len(best):
        return ""
    if min(lows) == max(lows) and min(highs) == max(highs):
        return _interval(best[0])
    return f" (95 % intervals within {percent(min(lows))} to {percent(max(highs))})"


def _changes(answers: Sequence[ModelAnswer], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield what changed of some verdicts, what needs a look first."""
    for verdict in verdicts:
        of_it = [answer for answer in answers if answer.change == verdict]
        if not of_it:
            continue
        if verdict in LOUD:
            of_it.sort(key=lambda answer: -abs(answer.difference or 0))
            parts = [f"{answer.model_id} {_changed_by(verdict, answer)}" for answer in of_it]
            yield _some(parts)
        else:
            yield f"{_some([answer.model_id for answer in of_it])} {WORDS[verdict]}"


def _is_borderline(answer: ModelAnswer) -> bool:
    """Return whether the test, which decides, and the interval disagree about a change."""
    low, high = answer.difference_low, answer.difference_high
    if low is None or high is None or answer.change == "unchanged":
        return False
    return (answer.change == "inconclusive") == (low > 0 or high < 0)


def _changed_by(verdict: Verdict, answer: ModelAnswer) -> str:
    if answer.difference is None:
        return WORDS[verdict]
    if verdict in LOUD:
        return f"{WORDS[verdict]} by {points(answer.difference)} points"
    return f"{WORDS[verdict]}: {signed_points(answer.difference)} points"


def _some(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; past a number of them, how many more."""
    if len(names) > MAX_NAMED_MODELS:
        return some(names, most=MAX_NAMED_MODELS)
    *head, last = names
    return f"{', '.join(head)} and {last}" if head else last

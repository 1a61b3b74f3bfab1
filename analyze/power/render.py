"""What a size of run can show, in words and as JSON; `collect plan` and `analyze power` print it.

Standard library only, since the collector prints it too. Lines end at 80 columns; a name that is
longer is never cut, since it is what one searches for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analyze.query.thresholds import limits_source
from analyze.render.document import Document, Section, Table, listed, paragraph
from analyze.render.numbers import DASH, percent, points, times, whole
from analyze.render.screen import screen_lines
from analyze.render.text import Column, line_of
from analyze.stats.power.exact import MIN_EXACT_CASES
from analyze.stats.power.planning import PowerPlan
from schemas.config.project import Thresholds
from schemas.errors import counted

if TYPE_CHECKING:
    from analyze.power.plan import PowerAnswer
    from schemas.output.comparison import ThresholdsUsed

POWER_SCHEMA_VERSION = 2
"""Of the JSON of `analyze power`; version 1 had no number of its own, and spoke of one night."""

WIDTH = 80
MIN_CORRELATION_CASES = 30
"""Cases below which rho and kappa are rough: at 30 x 3 their standard errors are 0.13 and 0.23."""

OTHER_POWER = (49, 96)
"""Percent of the time that a planned drop is shown where rho and kappa are not what was assumed:
the widest of the simulated ones (`benchmarks/planned_power.py`)."""

MAX_NAMED = 3
"""Models and runs named in a line; JSON has them all."""

LETTERS = (
    "rho: share of the variance that lies between cases, not between repetitions",
    "kappa: how far two runs find the same cases hard, 1 at most",
)


def power_document(answer: PowerAnswer, used: ThresholdsUsed, *, with_table: bool) -> Document:
    """Return what `analyze power` tells: a part for each model, and what its letters mean."""
    runs = f"newest run {_names(answer.run_ids)}" if answer.run_ids else "no run of this model"
    is_known = answer.suite_id is not None
    margin = points(used.thresholds.pass_rate_margin)
    limits = f"margin {margin} points, {_chances(used.thresholds)} ({limits_source(used)})"
    return Document(
        "What a size can show",
        [
            paragraph(f"suite {answer.suite_id}, {runs}" if is_known else "no run to learn from"),
            *(
                section
                for plan in merged(answer.plans)
                for section in _sections(plan, answer.limits, with_table=with_table)
            ),
            listed("", LETTERS),
            paragraph(limits, "limits"),
        ],
        width=WIDTH,
    )


def answer_json(answer: PowerAnswer, used: ThresholdsUsed) -> str:
    """Return the same as one JSON object."""
    facts = {
        "schema_version": POWER_SCHEMA_VERSION,
        "suite_id": answer.suite_id,
        "run_ids": list(answer.run_ids),
        "alpha": answer.limits.alpha,
        "power": answer.limits.power,
        "limits": used.model_dump(mode="json"),
        "models": [facts for plan in answer.plans for facts in power_facts(plan)],
    }
    return json.dumps(facts, indent=2)


def merged(plans: Iterable[PowerPlan]) -> list[PowerPlan]:
    """Return plans with those that say the same as one, in the order of their first."""
    models: dict[PowerPlan, list[str]] = {}
    for plan in plans:
        models.setdefault(replace(plan, model_ids=()), []).extend(plan.model_ids)
    return [replace(plan, model_ids=tuple(ids)) for plan, ids in models.items()]


def power_lines(plan: PowerPlan, limits: Thresholds, *, with_table: bool = False) -> list[str]:
    """Return what one model's runs can show, what that rests on, and what a difference needs."""
    sections = list(_sections(plan, limits, with_table=with_table))
    return screen_lines(Document("", sections, width=WIDTH), WIDTH)


def _sections(plan: PowerPlan, limits: Thresholds, *, with_table: bool) -> Iterator[Section]:
    yield listed(
        headline(plan),
        [_source(plan), *_caveats(plan), _rates(plan, limits), _night_words(plan), *_needs(plan)],
    )
    if with_table:
        title = f"smallest {plan.direction} that is shown between two nights, in points"
        yield Section([_table(plan)], title, depth=1)


def headline(plan: PowerPlan) -> str:
    """Return what one size can show between two nights, and within one where that is less."""
    prefix = "" if not plan.model_ids else f"{_names(plan.model_ids)}: "
    if plan.n_cases is None:
        return f"{prefix}no size is known; --cases names one"
    each = counted(plan.repetitions, "repetition")
    size = f"{counted(plan.n_cases, 'scorable case')} x {each}"
    if plan.given.cases_per_cluster is not None:
        clusters = counted(plan.n_cases, "cluster")
        size = f"{clusters} of scorable cases x {counted(plan.repetitions, 'trial')}"
    if plan.smallest is None:
        if plan.n_cases < MIN_EXACT_CASES:
            are = "is" if plan.n_cases == 1 else "are"
            return f"{prefix}{size} {are} too few: no {plan.direction} can be promised"
        return f"{prefix}{size} can show no {plan.direction} of the pass rate at all"
    text = f"{prefix}{size} can show a {plan.direction} of {points(plan.smallest)} points or more"
    text += " between two nights"
    within = plan.smallest_same_night
    if within is not None and points(within) != points(plan.smallest):
        text += f" ({points(within)} within one)"
    return text


def _source(plan: PowerPlan) -> str:
    given = plan.given
    if not given.run_ids:
        return f"no earlier run of 5 {_units(plan)} or more to learn from: all of this is assumed"
    known = _counted(plan, given.n_cases)
    text = f"known from run {_names(given.run_ids)} ({known} with a verdict)"
    if given.before_run_ids:
        text += f" and {_names(given.before_run_ids)} before it"
    return text + (f"; assumed: {' and '.join(given.assumed)}" if given.assumed else "")


def _caveats(plan: PowerPlan) -> Iterable[str]:
    given = plan.given
    if given.pass_rate_seen == 1:
        yield (
            f"every trial passed, so how much they vary is not known: the true rate may be "
            f"anything down to {percent(given.pass_rate)} %, which is planned with"
        )
    if given.none_passed:
        yield (
            "no trial passed: such a rate cannot drop, and only a rise can be shown; the true "
            f"rate may be anything up to {percent(given.pass_rate)} %, which is planned with"
        )
    units = _units(plan)
    alone = f"they count as one, {units} alone help"
    if given.repetitions_identical:
        yield f"repetitions gave the same answers byte for byte: {alone}"
    elif not given.repeating_helps:
        yield f"repetitions always agreed on the verdict: {alone}"
    guessed = [name for name in ("rho", "kappa") if name in given.assumed]
    if 0 < given.n_cases < MIN_CORRELATION_CASES and len(guessed) < 2:
        yield f"fewer than {MIN_CORRELATION_CASES} {units} tell rho and kappa only roughly"
    if guessed:
        low, high = OTHER_POWER
        yield (
            f"where {' or '.join(guessed)} was another than assumed, simulated power was anything "
            f"from {low} to {high} % in place of 80 %"
        )


def _rates(plan: PowerPlan, limits: Thresholds) -> str:
    given = plan.given
    return (
        f"pass rate {percent(given.pass_rate)} %, rho {times(given.rho)}, "
        f"kappa {times(given.kappa)}; {_chances(limits)}"
    )


def _chances(limits: Thresholds) -> str:
    return f"power {100 * limits.power:g} %, alpha {100 * limits.alpha:g} %"


def _night_words(plan: PowerPlan) -> str:
    """Return how much nights vary, and who says so."""
    nights = plan.given.nights
    source = "assumed" if nights.is_assumed else f"from {whole(nights.n_runs)} runs"
    return f"{source}: the rate of a night varies by {points(plan.night_sd)} points (sd)"


def _needs(plan: PowerPlan) -> Iterable[str]:
    """Yield which sizes show the wanted difference, and which that there is none."""
    wanted = f"{100 * plan.difference:g} points"
    if all(count is None for count in plan.cases_needed_same_night):
        yield f"a rate of {percent(plan.given.pass_rate)} % has no room for a drop of {wanted}"
    else:
        text = _sizes(
            plan,
            f"{wanted} need",
            f"shows {wanted}",
            plan.cases_needed,
            plan.cases_needed_same_night,
        )
        if plan.n_cases is None:
            yield text
        elif plan.repetitions_needed is None:
            count = _counted(plan, plan.n_cases)
            are = "is" if plan.n_cases == 1 else "are"
            often = "between two nights, however often each is asked"
            yield f"{text}; {count} {are} not enough {often}"
        else:
            one, many = "repetition", "repetitions"
            if plan.given.cases_per_cluster is not None:
                one, many = "trial of each", "trials of each"
            enough = f"{whole(plan.repetitions_needed)} {many} are enough"
            if plan.repetitions_needed == 1:
                enough = f"one {one} is enough"
            yield f"{text}; with {_counted(plan, plan.n_cases)} {enough}"
    same = f"nothing changed by {margin_words(plan)}"
    yield _sizes(
        plan,
        f"to show that {same} takes",
        f"shows that {same}",
        plan.cases_unchanged,
        plan.cases_unchanged_same_night,
    )


def margin_words(plan: PowerPlan) -> str:
    """Return the margin of a proof that nothing changed, and why it is a smaller one."""
    if plan.margin == plan.difference:
        return f"{100 * plan.difference:g} points"
    end = 100 if plan.given.pass_rate > 0.5 else 0
    return f"{points(plan.margin)} points (the margin near {end} %)"


def _sizes(
    plan: PowerPlan, need: str, shows: str, two: Sequence[int | None], one: Sequence[int | None]
) -> str:
    """Return the sizes for two nights, and those for one where they are others."""
    if all(count is None for count in two):
        found = f"between two nights no number of {_units(plan)} {shows}"
        return f"{found}; within one, {need} {_or(_pairs(plan, one))}"
    text = f"{need} {_or(_pairs(plan, two))}"
    if one == two:
        return text
    return f"{text} between two nights, {_or(_pairs(plan, one))} within one"


def _pairs(plan: PowerPlan, counts: Sequence[int | None]) -> list[str]:
    pairs = zip(counts, plan.columns, strict=True)
    return [f"{_counted(plan, count)} x {column}" for count, column in pairs if count is not None]


def closing_line(plan: PowerPlan) -> str:
    """Return what one size can show, on what that rests, and how many cases the margin takes."""
    given, how = plan.given, "" if plan.smallest is None else ", four times in five"
    source = "by the last runs"
    if not given.run_ids:
        source = f"assuming a pass rate of {given.pass_rate:g}, rho {given.rho:g}, "
        source += f"kappa {given.kappa:g}"
    at = plan.columns.index(plan.repetitions) if plan.repetitions in plan.columns else 0
    needed = plan.cases_unchanged[at]
    size = f"no number of {_units(plan)} is"
    if needed is not None:
        size = f"about {whole(needed)} {_units(plan)} x {plan.columns[at]} are"
    proof = f"{size} enough to show that nothing changed by {margin_words(plan)}"
    return f"{headline(plan)}{how}, {source}; {proof}"


def _table(plan: PowerPlan) -> Table:
    titles = [Column(_units(plan), "right"), *(Column(f"x {n}", "right") for n in plan.columns)]
    rows = [
        [whole(row.n_cases), *(DASH if one is None else points(one) for one in row.smallest)]
        for row in plan.table
    ]
    return Table(titles, rows)


def _units(plan: PowerPlan) -> str:
    """Return what sizes are counted in."""
    return "cases" if plan.given.cases_per_cluster is None else "clusters"


def _counted(plan: PowerPlan, number: int) -> str:
    return counted(number, "case" if plan.given.cases_per_cluster is None else "cluster")


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(line_of(name) for name in names[:MAX_NAMED])
    return shown if len(names) <= MAX_NAMED else f"{shown} and {len(names) - MAX_NAMED} more"


def _or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def power_facts(plan: PowerPlan) -> list[dict[str, object]]:
    """Return the same for JSON, an object a model; rates and differences lie between 0 and 1."""
    given = plan.given
    facts: dict[str, object] = {
        "direction": plan.direction,
        "n_cases": plan.n_cases,
        "repetitions": plan.repetitions,
        "cases_per_cluster": given.cases_per_cluster,
        "smallest_difference": plan.smallest,
        "smallest_difference_same_night": plan.smallest_same_night,
        "pass_rate": given.pass_rate,
        "rho": given.rho,
        "kappa": given.kappa,
        "assumed": list(given.assumed),
        "pass_rate_seen": given.pass_rate_seen,
        "n_cases_seen": given.n_cases,
        "run_ids": list(given.run_ids),
        "before_run_ids": list(given.before_run_ids),
        "repetitions_identical": given.repetitions_identical,
        "nights": "assumed" if given.nights.is_assumed else "measured",
        "night_sd": plan.night_sd,
        "night_run_ids": list(given.night_run_ids),
        "difference": plan.difference,
        "margin": plan.margin,
        "cases_needed": _by_column(plan, plan.cases_needed),
        "cases_needed_same_night": _by_column(plan, plan.cases_needed_same_night),
        "cases_unchanged": _by_column(plan, plan.cases_unchanged),
        "cases_unchanged_same_night": _by_column(plan, plan.cases_unchanged_same_night),
        "repetitions_needed": plan.repetitions_needed,
        "table": [
            {"n_cases": row.n_cases, "smallest": _by_column(plan, row.smallest)}
            for row in plan.table
        ],
    }
    return [{"model_id": model_id} | facts for model_id in plan.model_ids or (None,)]


def _by_column(plan: PowerPlan, values: Sequence[object]) -> dict[str, object]:
    return {str(column): value for column, value in zip(plan.columns, values, strict=True)}

"""One model beside the one that stands first: on which cases, how it did, and what decides."""

from __future__ import annotations

from analyze.render.numbers import chance, percent, points, whole
from analyze.render.text import line_of
from analyze.routing.paired import PairedQuality, PairedRule, paired_quality, standing
from analyze.routing.values import Compared, Option
from schemas.errors import counted


def compared(option: Option, first: Option, rule: PairedRule) -> Compared:
    """Return how an option stands to the first one, and the sentence that says so."""
    pair = paired_quality(option.cases, first.cases)
    stands = standing(pair, rule)
    name = line_of(first.model)
    if stands == "apart":
        text = f"shares no case with {name}: no recommendation between them"
        return Compared(stands, pair, text)
    if not pair.n_shared:
        said = {"fuller": "only it has verdicts", "thinner": f"only {name} has verdicts"}
        return Compared(stands, pair, f"beside {name}: {said.get(stands, 'neither has verdicts')}")
    ends = {
        "better": "better",
        "worse": "worse",
        "likely_better": f"ahead by {points(pair.difference)} points, not shown",
        "likely_worse": f"behind by {points(pair.difference)} points, not shown",
        "fuller": f"no difference shown, and {name} was not asked the others",
        "thinner": f"no difference shown, and it was asked {_share(pair)} of {name}",
        "level": f"no difference shown{_decided(option, first, rule)}",
    }
    text = f"beside {name}: {_rates(pair, name)}, p {chance(pair.p)}: {ends[stands]}"
    return Compared(stands, pair, text)


def _rates(pair: PairedQuality, name: str) -> str:
    own, other = pair.own_rate, pair.other_rate
    cases = (
        f"the {counted(pair.n_shared, 'case')}"
        if pair.n_shared == pair.n_own
        else f"{whole(pair.n_shared)} of its {counted(pair.n_own, 'case')}"
    )
    return (
        f"quality over {cases} that both were asked {percent(own, other)} %, "
        f"{name} {percent(other, own)} %"
    )


def _share(pair: PairedQuality) -> str:
    return f"{whole(pair.n_shared)} of the {counted(pair.n_other, 'case')}"


def _decided(option: Option, first: Option, rule: PairedRule) -> str:
    """Return what puts the first one before an option of the same quality."""
    for own, best, word in (
        (option.cost_usd, first.cost_usd, "cheaper"),
        (option.e2e_p95_ms, first.e2e_p95_ms, "faster"),
    ):
        if best is not None and (own is None or own > best * (1 + rule.ratio_margin)):
            return f"; {line_of(first.model)} is {word}"
    return ""

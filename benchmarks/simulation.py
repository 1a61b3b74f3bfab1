"""Simulates what the formulas claim: coverage, false alarms, power, alerts; prints the tables.

    python benchmarks/simulation.py            as docs/statistics.md prints it
    python benchmarks/simulation.py --quick    a tenth of the draws

Every draw comes from `scenarios`, whose truth is known; every figure from the functions that
`analyze` calls. The same seed gives the same figures on any machine.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from measures import (
    CellFigures,
    ShiftFigures,
    coverage_of_costs,
    coverage_of_rates,
    figures_of_pairs,
    nights_to_heal,
    open_drops,
    rate_shifts,
    shifted_cells,
    value_shifts,
)
from scenarios import (
    COSTS,
    FAMILIES,
    HARD_RATES,
    SIZES,
    SPREADS,
    Nights,
    Pair,
    Size,
    Spread,
    Times,
    changed_cells,
    hard_run,
    of_cases,
    of_families,
    one_run,
    pairs,
    passes_of_nights,
    times_of_nights,
    two_runs,
)

from analyze.stats.intervals import wilson_shrunk
from analyze.stats.rates import steadiness

SEED = 20261122
DROP = -0.10
SHIFT_AT = 30


@dataclass(frozen=True)
class Draws:
    """How often each thing is drawn."""

    runs: int = 3_000
    pairs: int = 4_000
    """Of runs that are compared."""
    series: int = 1_000
    calls: int = 50
    """Histories of 200 cells."""

    def tenth(self) -> Draws:
        """Return a tenth of them."""
        return Draws(self.runs // 10, self.pairs // 10, self.series // 10, self.calls // 10)


def generator(*place: int) -> np.random.Generator:
    """Return the generator of one scenario: what it draws depends on nothing that ran before."""
    return np.random.default_rng([SEED, *place])


def table(head: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """Print a table of Markdown, row by row."""
    print("| " + " | ".join(head) + " |")
    print("| --- " + "| ---: " * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print()


def percent(share: float) -> str:
    """Return a share in percent, to one digit."""
    return f"{100 * share:.1f}"


def mean(shares: Sequence[float]) -> str:
    """Return the mean of shares in percent."""
    return percent(float(np.mean(shares)))


def rates(draws: Draws) -> None:
    """Interval of a rate."""

    def rows() -> Iterator[Sequence[object]]:
        for place, size in enumerate(SIZES):
            found = [
                coverage_of_rates(
                    *one_run(spread, size, draws.runs, generator(1, place, number)),
                    spread.true_rate(),
                )
                for number, spread in enumerate(SPREADS)
            ]
            covered = [one.covered for one in found]
            width = float(np.mean([one.width for one in found]))
            yield size, mean(covered), percent(min(covered)), percent(width)

    table(("cases x repetitions", "coverage %", "worst %", "width, points"), rows())


def hard_rates(draws: Draws) -> None:
    """Interval of a rate where the cases are spread as no formula supposes."""
    repetitions = (1, 2, 5, 20, 100)
    worst: dict[str, float] = {}
    every: dict[bool, list[float]] = {True: [], False: []}

    def rows() -> Iterator[Sequence[object]]:
        for cases in (3, 5, 10, 20, 30):
            cells = []
            for place, times in enumerate(repetitions):
                found = []
                for number, hard in enumerate(HARD_RATES):
                    random = generator(13, cases, place, number)
                    runs = hard_run(hard, Size(cases, times), draws.runs // 2, random)
                    one = coverage_of_rates(*runs, hard.true_rate()).covered
                    worst[str(hard)] = min(one, worst.get(str(hard), 1.0))
                    found.append(one)
                every[times == 1 and cases < 10] += found
                cells.append(f"{mean(found)} / {percent(min(found))}")
            yield f"{cases} cases", *cells

    table(("mean / worst %", *(f"x {times}" for times in repetitions)), rows())
    for few, label in ((True, "below ten cases asked once"), (False, "all others")):
        print(f"- {label}: mean {mean(every[few])} %, worst {percent(min(every[few]))} %")
    least = min(worst, key=worst.__getitem__)
    print(f"- hardest: {least}\n")


def more_passes(_: Draws) -> None:
    """Whether a trial more that passes ever lowers a limit: every outcome, every next one."""
    counts = (1, 2, 3, 5, 10)
    fallen = total = 0
    for cases in (2, 3, 4):
        for m in itertools.combinations_with_replacement(counts[: 7 - cases], cases):
            found = {
                k: wilson_shrunk(k, m)
                for k in itertools.product(*[range(count + 1) for count in m])
            }
            for k, here in found.items():
                for place in range(cases):
                    there = found.get((*k[:place], k[place] + 1, *k[place + 1 :]))
                    if here and there:
                        total += 1
                        fallen += there.low < here.low - 1e-12 or there.high < here.high - 1e-12
    print(f"- {fallen} of {total:,} steps lower a limit: 2 to 4 cases, 1 to 10 trials each\n")


def mean_costs(draws: Draws) -> None:
    """Interval of a mean cost: coverage, and how far its limits lie from the mean, as a factor."""
    sizes = (5, 10, 20, 30, 100)

    def rows() -> Iterator[Sequence[object]]:
        for number, (name, (truth, drawn)) in enumerate(COSTS.items()):
            cells = []
            for cases in sizes:
                costs = drawn(generator(14, number, cases), (draws.runs, cases))
                found = coverage_of_costs(costs, truth)
                cells.append(f"{percent(found.covered)} / {math.exp(found.width / 2):.2f}")
            yield name, *cells

    table(("coverage % / factor", *(f"{cases} cases" for cases in sizes)), rows())


def differences(draws: Draws) -> None:
    """Interval and test of a difference."""
    head = (
        "cases x repetitions", "coverage %", "worst %", "width, points",
        "false alarms %", "worst %", "power at -10 points %",
    )  # fmt: skip

    def rows() -> Iterator[Sequence[object]]:
        for place, size in enumerate(SIZES):
            same, drop = (
                [
                    figures_of_pairs(
                        *two_runs(pair, size, draws.pairs, generator(2, place, column, number)),
                        pair.true_difference(),
                    )
                    for number, pair in enumerate(pairs(change))
                ]
                for column, change in enumerate((0.0, DROP))
            )
            covered = [one.covered for one in same + drop]
            false = [one.significant for one in same]
            yield (
                size, mean(covered), percent(min(covered)),
                percent(float(np.mean([one.width for one in same + drop]))),
                mean(false), percent(max(false)), mean([one.shown_worse for one in drop]),
            )  # fmt: skip

    table(head, rows())


def clusters(draws: Draws) -> None:
    """Ten families of five cases, taken for fifty cases and for ten clusters."""
    head = (
        "repetitions", "a family's change from run to run, logit sd",
        "coverage % by case: mean / worst", "by cluster", "width, points, by case", "by cluster",
        "false alarms % by case: mean / worst", "by cluster",
    )  # fmt: skip
    found: dict[tuple[int, float], list[tuple[float, ...]]] = {}
    for number, family in enumerate(FAMILIES):
        runs = family.runs(draws.runs // 3, generator(14, number), 2)
        figures: list[float] = []
        for counted in (of_cases, of_families):
            counts = [counted(one) for one in runs]
            one = coverage_of_rates(counts[0], counts[1], family.true_rate())
            both = figures_of_pairs(counts[0], counts[1], counts[2], counts[3], 0.0)
            figures += [one.covered, one.width, both.significant]
        found.setdefault((family.repetitions, family.taste), []).append(tuple(figures))

    def rows() -> Iterator[Sequence[object]]:
        for (repetitions, taste), figures in found.items():
            held, width, false, held_2, width_2, false_2 = zip(*figures, strict=True)
            yield (
                repetitions, taste, f"{mean(held)} / {percent(min(held))}",
                f"{mean(held_2)} / {percent(min(held_2))}", mean(width), mean(width_2),
                f"{mean(false)} / {percent(max(false))}",
                f"{mean(false_2)} / {percent(max(false_2))}",
            )  # fmt: skip

    table(head, rows())


def missing(draws: Draws) -> None:
    """Trials that have no verdict, by chance and because they would have failed."""
    head = ("cases x repetitions", "30 % missing, by chance: %", "20 % of failures missing: %")

    def rows() -> Iterator[Sequence[object]]:
        for place, size in enumerate(SIZES[4:8]):
            found: tuple[list[float], list[float]] = ([], [])
            for number, spread in enumerate(SPREADS):
                random = generator(3, place, number)
                k, m = one_run(spread, size, draws.runs, random)
                by_chance = random.binomial(k, 0.7), random.binomial(m - k, 0.7)
                of_failures = k, random.binomial(m - k, 0.8)
                for list_, (passed, failed) in zip(found, (by_chance, of_failures), strict=True):
                    one = coverage_of_rates(passed, passed + failed, spread.true_rate())
                    list_.append(one.covered)
            yield size, *(f"{percent(min(one))} to {percent(max(one))}" for one in found)

    table(head, rows())


def verdicts(draws: Draws) -> None:
    """What a gate would say, at a true rate of 0.8 and an ICC of 0.5."""
    head = (
        "cases x repetitions", "true change", "regression shown %",
        "drop > 2 points ruled out %", "> 5 points %", "> 10 points %", "same within 5 points %",
    )  # fmt: skip
    sizes = (Size(20, 3), Size(30, 3), Size(30, 5), Size(100, 1), Size(100, 3), Size(300, 3))

    def rows() -> Iterator[Sequence[object]]:
        for place, size in enumerate(sizes):
            for number, change in enumerate((0.0, -0.05, DROP)):
                pair = Pair(Spread(0.8, 0.5), change)
                runs = two_runs(pair, size, draws.runs, generator(4, place, number))
                one = figures_of_pairs(*runs, pair.true_difference())
                proven = [percent(one.proven(margin)) for margin in (0.02, 0.05, 0.10)]
                what = f"{100 * change:+.0f}" if change else "0"
                yield size, what, percent(one.shown_worse), *proven, percent(one.same(0.05))

    table(head, rows())


def shifts(draws: Draws) -> None:
    """Scan of pass rates: 60 nights, tested every night, at no margin."""
    worlds = [
        (Size(30, 1), 0.0), (Size(30, 3), 0.0), (Size(100, 1), 0.0), (Size(30, 3), 0.4),
    ]  # fmt: skip

    def rows() -> Iterator[Sequence[object]]:
        for place, (size, noise) in enumerate(worlds):
            kept = _series(draws.series, Nights(size, noise=noise), (7, place, 0))
            cells = [_false(rate_shifts(kept, None)), _false(rate_shifts(kept, None, margin=0.05))]
            for number, change in enumerate((-0.05, DROP, -0.20), start=1):
                nights = Nights(size, shift_at=SHIFT_AT, change=change, noise=noise)
                cells.append(
                    _shift_figures(
                        rate_shifts(_series(draws.series, nights, (7, place, number)), SHIFT_AT)
                    )
                )
            yield f"{size}{', noisy nights' * bool(noise)}", *cells

    heading = "false / repeated per 100 / found in 7 runs % / median runs"
    table(
        ("cases x repetitions", "unchanged: false per 100", "with a margin of 5 points",
         f"-5: {heading}", "-10", "-20"),
        rows(),
    )  # fmt: skip


def places(draws: Draws) -> None:
    """Which run an alert names: the first of the new level, or one near it."""

    def rows() -> Iterator[Sequence[object]]:
        for place, size in enumerate((Size(30, 1), Size(30, 3), Size(100, 1))):
            for number, change in enumerate((-0.05, DROP, -0.20)):
                nights = Nights(size, shift_at=SHIFT_AT, change=change)
                found = rate_shifts(_series(draws.series, nights, (12, place, number)), SHIFT_AT)
                shares = [percent(found.placed(within)) for within in (0, 1, 3, 7)]
                yield size, f"{100 * change:.0f}", *shares

    head = ("cases x repetitions", "change", "exactly %", "within 1 run %", "3 %", "7 %")
    table(head, rows())


def short_shifts(draws: Draws) -> None:
    """Scan of pass rates over twelve nights, the shift in the middle, at no margin."""

    def rows() -> Iterator[Sequence[object]]:
        for place, size in enumerate((Size(30, 1), Size(30, 3))):
            cells = []
            for number, change in enumerate((None, DROP, -0.20)):
                at = None if change is None else 6
                nights = Nights(size, nights=12, shift_at=at, change=change or 0.0)
                found = rate_shifts(_series(draws.series, nights, (8, place, number)), at)
                cells.append(_false(found) if at is None else percent(found.found))
            yield size, *cells

    table(
        ("cases x repetitions", "unchanged: false per 100", "-10: found %", "-20: found %"), rows()
    )


def bad_nights(draws: Draws) -> None:
    """A night on which three of five trials time out, in a series that never shifts."""
    nights = (4, 6, 8, 10, 15, 30, 58)

    def rows() -> Iterator[Sequence[object]]:
        for place, size in enumerate((Size(30, 1), Size(30, 3))):
            alerts = []
            for bad in nights:
                series = []
                for one in range(draws.series // 2):
                    random = generator(11, place, bad, one)
                    k, m = passes_of_nights(Nights(size), random)
                    k[bad - 1] = random.binomial(k[bad - 1], 0.4)
                    series.append((k, m))
                alerts.append(_false(rate_shifts(series, None, margin=0.05)))
            yield size, *alerts

    table(("false alerts per 100 series", *(f"bad night {night}" for night in nights)), rows())


def memory(draws: Draws) -> None:
    """What stands in a gate: for no reason, while a drop is not mended, and after it was."""
    sizes = (Size(30, 1), Size(30, 3), Size(100, 1))
    worlds = [(size, noise) for size in sizes for noise in (0.0, 0.2, 0.4)]

    def red(series: Sequence[tuple[Any, Any]], night: int) -> str:
        return percent(float(np.mean([n > 0 for n in open_drops(series, night)])))

    def rows() -> Iterator[Sequence[object]]:
        for place, (size, noise) in enumerate(worlds):
            kept, dropped, mended = (
                _series(
                    draws.series // 4 if more else 5 * draws.series,
                    Nights(size, nights=90, noise=noise, **more),
                    (13, place, n),
                )
                for n, more in enumerate(_HISTORIES)
            )
            healing = nights_to_heal(mended, MENDED_AT, 30)
            heals = " / ".join(f"{np.quantile(healing, q) - 1:.0f}" for q in (0.5, 0.9))
            after = " / ".join(red(mended, night) for night in (70, 80, 90))
            yield size, noise, red(kept, 90), red(dropped, 60), red(dropped, 90), heals, after

    head = (
        "cases x repetitions", "logit sd of nights", "unchanged: red on night 90 %",
        "-10: red on night 60 %", "night 90 %", "mended: red nights after, median / 90th %",
        "mended: red on night 70 / 80 / 90 %",
    )  # fmt: skip
    table(head, rows())


MENDED_AT = 60

_HISTORIES: tuple[dict[str, Any], ...] = (
    {},
    {"shift_at": SHIFT_AT, "change": DROP},
    {"shift_at": SHIFT_AT, "change": DROP, "heals_at": MENDED_AT},
)


def latency(draws: Draws) -> None:
    """Scan of times: 60 nights of latencies, at the margin of 10 %."""
    worlds = [("normal", 0.0), ("t3", 0.0), ("spikes", 0.0), ("normal", 0.8)]
    shifts = [(4, 2.0), (4, 100.0), (30, 1.22), (30, 1.5)]

    def series(place: int, number: int, times: Times, n_series: int) -> list[Any]:
        return [times_of_nights(times, generator(9, place, number, one)) for one in range(n_series)]

    def unchanged() -> Iterator[Sequence[object]]:
        for place, (kind, memory) in enumerate(worlds):
            kept = series(place, 0, Times(kind, memory=memory), 5 * draws.series)
            margins = (0.0, 0.10)
            alerts = (_false(value_shifts(kept, None, ratio_margin=one)) for one in margins)
            yield f"{kind}{f', AR {memory}' * bool(memory)}", *alerts

    def changed() -> Iterator[Sequence[object]]:
        for place, (kind, _) in enumerate(worlds[:3]):
            for number, (at, ratio) in enumerate(shifts, start=1):
                times = Times(kind, shift_at=at, ratio=ratio)
                found = value_shifts(
                    series(place, number, times, draws.series), at, ratio_margin=0.10
                )
                shares = (
                    found.found_in(4), found.found, found.placed(0), found.placed(1),
                    found.covered(ratio),
                )  # fmt: skip
                yield kind, f"x{ratio:g} at night {at + 1}", *map(percent, shares)

    table(("noise, sd 0.08", "no margin: false per 100", "margin of 10 %"), unchanged())
    head = ("told in 4 runs %", "in 7 %", "exact run %", "within 1 run %", "interval holds it %")
    table(("noise, sd 0.08", "shift", *head), changed())


def cells(draws: Draws) -> None:
    """Single cells: 200 in a call, 60 nights, three trials each; twelve drop half way."""
    none: list[CellFigures] = []
    some: list[CellFigures] = []
    drops = np.linspace(0.05, 0.6, 12)
    for call in range(draws.calls):
        for into, changes in ((none, drops[:0]), (some, drops)):
            made = changed_cells(200, 60, 3, changes, generator(10, call, len(changes)))
            into.append(shifted_cells(made, len(changes), SHIFT_AT))
    alarmed = np.mean([one.false > 0 for one in none])
    found, false = sum(one.found for one in some), sum(one.false for one in some)
    near = sum(one.first_run_right for one in some)
    print(f"- calls without a change in which some cell is named: {percent(float(alarmed))} %")
    print(f"- with drops of 5 to 60 points in 12 cells: {found / len(some):.1f} of 12 named,")
    print(f"  {percent(false / max(found + false, 1))} % of the named ones wrong,")
    print(f"  {percent(near / max(found, 1))} % with the right first run, give or take one\n")


def flips(_: Draws) -> None:
    """Chance that a cell is called flaky or steady: exact, from the binomial distribution."""
    lengths = (5, 10, 20, 50)

    def chances(rate: float, n: int) -> tuple[float, float]:
        weight = [float(_binomial(n, k, rate)) for k in range(n + 1)]
        said = [steadiness(k, n) for k in range(n + 1)]
        return tuple(
            sum(w for w, one in zip(weight, said, strict=True) if one == word)
            for word in ("flaky", "steady")
        )  # type: ignore[return-value]

    def rows() -> Iterator[Sequence[object]]:
        for rate in (1.0, 0.99, 0.97, 0.9, 0.8, 0.5):
            found = [chances(rate, n) for n in lengths]
            yield rate, *(f"{percent(flaky)} / {percent(steady)}" for flaky, steady in found)

    table(("true pass rate", *(f"{n} trials: flaky / steady %" for n in lengths)), rows())
    worst = max(chances(0.97, n)[0] for n in range(5, 51))
    print(f"- at 0.97, with 5 to 50 trials, at most {percent(worst)} % are called flaky\n")


def _binomial(n: int, k: int, rate: float) -> float:
    chance = 1.0
    for step in range(k):
        chance *= (n - step) / (step + 1)
    return chance * rate**k * (1 - rate) ** (n - k)


def _series(n: int, nights: Nights, place: tuple[int, ...]) -> list[tuple[Any, Any]]:
    return [passes_of_nights(nights, generator(*place, one)) for one in range(n)]


def _false(found: ShiftFigures) -> str:
    return f"{100 * found.false_alerts / found.n_series:.1f}"


def _shift_figures(found: ShiftFigures) -> str:
    again = f"{100 * found.repeated / found.n_series:.1f}"
    return f"{_false(found)} / {again} / {percent(found.found)} / {found.median_delay:.0f}"


PARTS: dict[str, Callable[[Draws], None]] = {
    "one rate": rates,
    "hard spreads": hard_rates,
    "one pass more": more_passes,
    "mean cost": mean_costs,
    "paired difference": differences,
    "clusters": clusters,
    "missing verdicts": missing,
    "verdicts of a gate": verdicts,
    "level shifts of a pass rate": shifts,
    "where the break is put": places,
    "the same within twelve nights": short_shifts,
    "one bad night": bad_nights,
    "memory of a gate": memory,
    "level shifts of a latency": latency,
    "single cells": cells,
    "flip rate": flips,
}


def main() -> None:
    """Print every table, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    parser.add_argument("--only", choices=sorted(PARTS), action="append", help="some tables")
    options = parser.parse_args()
    draws = Draws().tenth() if options.quick else Draws()
    print(f"seed {SEED}; {draws.runs:,} draws of runs, {draws.pairs:,} of pairs, ", end="")
    print(f"{draws.series:,} series, {draws.calls} calls of 200 cells in each scenario\n")
    for name, part in PARTS.items():
        if not options.only or name in options.only:
            began = time.perf_counter()
            print(f"## {name}\n")
            part(draws)
            print(f"({time.perf_counter() - began:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()

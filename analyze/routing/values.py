"""What is asked of a model, what is known of each, and what came of it: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

from analyze.routing.order import Cases, PairedQuality, ScopeRate
from schemas.output.route import Need, Standing, State

PER_TRIALS = 1_000
"""Costs are named per so many trials: one trial costs too many zeros."""


@dataclass(frozen=True)
class Option:
    """One way to run a model, and all that history says about it."""

    provider: str
    model: str
    thinking_level: str | None
    tool_use: ScopeRate
    quality: ScopeRate
    cost_usd: float | None = None
    """Mean of one trial, over those whose cost is known."""
    n_cost_known: int = 0
    n_measured: int = 0
    """Trials with a result, reused ones left out."""
    e2e_p95_ms: float | None = None
    """A time-out is later than every success; None: no trial, or beyond the time limit."""
    n_latency: int = 0
    """Successes behind it."""
    n_timeouts: int = 0
    """Time-outs that count against the model, behind it as well."""
    coverage: float | None = 1.0
    """Share of the planned trials that can get a verdict with one; None: there are none."""
    cases: Cases = field(default_factory=dict)
    """Passed and scored trials of each case behind its quality."""

    @property
    def n_timed(self) -> int:
        """Trials behind the percentile."""
        return self.n_latency + self.n_timeouts

    @property
    def is_beyond_limit(self) -> bool:
        """Whether so many trials timed out that the percentile lies among them."""
        return self.n_timed > 0 and self.e2e_p95_ms is None


@dataclass(frozen=True)
class Needs:
    """What the model must do; None: does not matter."""

    tool_use: bool = False
    min_quality: float | None = None
    """Between 0 and 1, for the lower end of the interval, cases that it was not asked as failed."""
    max_cost_usd: float | None = None
    """Of 1,000 trials."""
    max_latency_ms: float | None = None
    """For the 95th percentile of e2e_ms."""

    def stated_needs(self) -> tuple[Need, ...]:
        """Return the aspects that matter."""
        wanted = (
            self.tool_use,
            self.min_quality is not None,
            self.max_cost_usd is not None,
            self.max_latency_ms is not None,
        )
        names: tuple[Need, ...] = get_args(Need)
        return tuple(name for name, matters in zip(names, wanted, strict=True) if matters)


@dataclass(frozen=True)
class Reason:
    """What speaks for or against one option."""

    aspect: Need
    state: State
    text: str
    distance: float
    """How far it is from what is asked, to find the nearest miss."""
    more_cases: int | None = None
    """Cases that would settle it, where that is what is missing."""


@dataclass(frozen=True)
class Compared:
    """How an option stands to the first one, on the cases that both were asked."""

    standing: Standing
    pair: PairedQuality
    text: str


@dataclass(frozen=True)
class Judged:
    """An option with its reasons."""

    option: Option
    reasons: tuple[Reason, ...]
    compared: Compared | None = None
    """None for the first one, and where nothing fits."""

    @property
    def fits(self) -> bool:
        """Whether nothing that was asked for is missed or unknown."""
        return all(reason.state in {"met", "not_asked"} for reason in self.reasons)

    @property
    def is_open(self) -> bool:
        """Whether more data alone could make it fit."""
        return not self.fits and all(reason.state != "missed" for reason in self.reasons)


@dataclass(frozen=True)
class Nearest:
    """Who came nearest to a need, or met it while missing another one."""

    aspect: Need
    option: Option
    reason: Reason


@dataclass(frozen=True)
class Route:
    """All options, best first, and the nearest misses when none fits."""

    judged: tuple[Judged, ...]
    nearest: tuple[Nearest, ...]
    apart: tuple[Option, ...] = ()
    """Options that fit and share no case with the first one."""

    @property
    def chosen(self) -> Option | None:
        """The option to use; None when nothing fits, or others might as well and share no case."""
        is_met = bool(self.judged) and self.judged[0].fits
        return self.judged[0].option if is_met and not self.apart else None

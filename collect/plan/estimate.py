"""Before a run: about how many tokens a plan sends and gets back, and what they may cost.

An estimate, and labelled as one: four characters a token suits English prose; code and other
scripts have more. It counts the first request of each trial: neither retries nor further turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from collect.config import LoadedCase, ResolvedModel, RunInputs
from collect.config.endpoints import PROVIDERS, host_of
from collect.config.runners import RUNNERS
from schemas.config.prices import NANO, Price, PriceTable
from schemas.run.config import PlannedTrial

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English."""

CaseKey = tuple[str, str]
"""(model_id, case_id)."""


@dataclass(frozen=True, slots=True)
class MeanTokens:
    """Mean tokens of one case with one model, in earlier runs."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """What one model's share of a plan may use; None is unknown, never nothing."""

    model_id: str
    input_tokens: int | None
    output_tokens_low: int
    """From history; trials without one count nothing."""
    output_tokens_high: int | None
    """From history, else max_tokens; None when a trial has neither."""
    price: Price | None
    cost_low_nano_usd: int | None
    cost_high_nano_usd: int | None

    @property
    def cost_text(self) -> str:
        """Return the range of the cost for people."""
        low, high = self.cost_low_nano_usd, self.cost_high_nano_usd
        if self.price is None:
            return "cost unknown: no price"
        if low is None:
            return "cost unknown: no tokens to go by"
        if high is None:
            return f"at least about {usd(low)}: no max_tokens, so no upper end"
        ends = dict.fromkeys((usd(low), usd(high)))
        return f"about {' to '.join(ends)}"


def estimate(
    inputs: RunInputs,
    plan: Iterable[PlannedTrial],
    prices: PriceTable,
    *,
    on_date: date,
    history: Mapping[CaseKey, MeanTokens] | None = None,
) -> tuple[ModelEstimate, ...]:
    """Return one estimate for each model of the plan, in the suite's order.

    Packaged prices count only at a vendor's own address: another server may serve anything under
    a known name. The user's own prices count everywhere.

    Args:
        inputs: cases and models that the plan was made from.
        plan: the trials that will be made; those filtered out are left out here too.
        prices: the project's price table.
        on_date: day the prices are taken for, UTC.
        history: tokens of earlier runs by (model_id, case_id); they replace the rule of thumb.
    """
    cases = {case.case_id: case for case in inputs.cases}
    characters = {
        name: sum(len(message["content"]) for message in case.messages)
        for name, case in cases.items()
    }
    by_model: dict[str, list[PlannedTrial]] = {}
    for trial in plan:
        by_model.setdefault(trial.model_id, []).append(trial)
    estimates = []
    for model in inputs.models:
        if trials := by_model.get(model.model_id):
            tokens = [
                _tokens(model, cases[trial.case_id], characters[trial.case_id], history or {})
                for trial in trials
            ]
            price = price_of(model, prices, on_date)
            estimates.append(_summed(model, tokens, price))
    return tuple(estimates)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Of one trial."""

    sent: int | None
    low: int
    high: int | None


def _tokens(
    model: ResolvedModel, case: LoadedCase, characters: int, history: Mapping[CaseKey, MeanTokens]
) -> _Tokens:
    if seen := history.get((model.model_id, case.case_id)):
        return _Tokens(seen.input_tokens, seen.output_tokens, seen.output_tokens)
    asks_once = RUNNERS[case.runner_type].asks_once and not case.context.llm_probe.tools
    if not asks_once or PROVIDERS[model.provider].adds_prompts:
        # An agent writes its own prompts around ours, and asks more than once.
        return _Tokens(None, 0, None)
    sent = -(-characters // CHARACTERS_PER_TOKEN)
    return _Tokens(sent, 0, _most(model, case))


def _most(model: ResolvedModel, case: LoadedCase) -> int | None:
    """Return the limit of an answer's tokens; request options stand above the settings."""
    options = model.request_options
    limits = (
        *(options.get(name) for name in PROVIDERS[model.provider].limits),
        model.setting("max_tokens", case),
    )
    return next((limit for limit in limits if isinstance(limit, int)), None)


def price_of(model: ResolvedModel, prices: PriceTable, on_date: date) -> Price | None:
    """Return a model's price on a day; packaged ones count only at the vendor's own address.

    They are those of the usual service: another `service_tier` has others. Nobody bills what a run
    serves itself: it costs nothing, but for a price of the user's own.
    """
    if model.embedded is not None:
        own = prices.find(model.model, on_date, list_prices=False)
        return own or Price(
            model=model.model,
            valid_from=on_date,
            input_usd_per_million=0,
            output_usd_per_million=0,
            cached_input_usd_per_million=0,
            cache_write_usd_per_million=0,
        )
    at_vendor = host_of(model.base_url) in PROVIDERS[model.provider].own_hosts
    at_vendor &= model.request_options.get("service_tier") in (None, "auto", "default")
    return prices.find(model.model, on_date, list_prices=at_vendor)


def most_of_trial(model: ResolvedModel, case: LoadedCase) -> int | None:
    """Return the most that one trial may cost, in nano-dollars; None when nothing bounds it."""
    if model.price is None:
        return None
    if model.price.is_free:
        return 0
    characters = sum(len(message["content"]) for message in case.messages)
    tokens = _tokens(model, case, characters, {})
    return model.price.most_nano_usd(input=tokens.sent, output=tokens.high)


def most_of_request(model: ResolvedModel, characters: int, max_tokens: int) -> int | None:
    """Return the most that one answer may cost, in nano-dollars; None when nothing bounds it.

    Args:
        model: with its price, and its request options, which may set another limit.
        characters: that are sent.
        max_tokens: of the answer.
    """
    if model.price is None:
        return None
    sent = -(-characters // CHARACTERS_PER_TOKEN)
    return model.price.most_nano_usd(input=sent, output=answer_limit(model, max_tokens))


def answer_limit(model: ResolvedModel, max_tokens: int) -> int:
    """Return the most tokens of an answer: as a request option says, else `max_tokens`."""
    limits = (model.request_options.get(name) for name in PROVIDERS[model.provider].limits)
    return next((limit for limit in limits if isinstance(limit, int)), max_tokens)


def _summed(model: ResolvedModel, tokens: list[_Tokens], price: Price | None) -> ModelEstimate:
    sent = _sum(one.sent for one in tokens)
    low, high = sum(one.low for one in tokens), _sum(one.high for one in tokens)
    return ModelEstimate(
        model_id=model.model_id,
        input_tokens=sent,
        output_tokens_low=low,
        output_tokens_high=high,
        price=price,
        cost_low_nano_usd=None if price is None else price.cost_nano_usd(input=sent, output=low),
        cost_high_nano_usd=None if price is None else price.most_nano_usd(input=sent, output=high),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Return a sum, unknown as soon as one part is."""
    known = list(numbers)
    return None if None in known else sum(number or 0 for number in known)


def usd(nano_usd: int) -> str:
    """Return dollars for people; a cost that is not zero never looks like it."""
    usd = max(nano_usd / NANO, 0.0001) if nano_usd else 0.0
    return f"${usd:,.2f}" if usd >= 0.1 or not usd else f"${usd:.4f}"

"""What a trial costs, and which models have a price at all."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from collect.config import ResolvedModel, RunInputs
from collect.plan.estimate import price_of
from collect.runners.base import Execution
from schemas.config.prices import NANO, Price
from schemas.errors import ConfigError, Problem

ASSUMED = re.compile(r"(\d{1,5}(?:\.\d{1,6})?)/(\d{1,5}(?:\.\d{1,6})?)", re.ASCII)


def parse_assumed(text: str, on_date: date) -> Price:
    """Return `IN/OUT`, US dollars per million tokens, as a price.

    Raises:
        ConfigError: it is not two numbers.
    """
    match = ASSUMED.fullmatch(text)
    if match is None:
        allowed = "IN/OUT in US dollars per million tokens, such as 0.15/0.60"
        problem = Problem(None, "--assume-price", found=f"`{text}`", allowed=allowed)
        raise ConfigError([problem])
    return Price(
        model="--assume-price",
        valid_from=on_date,
        input_usd_per_million=float(match[1]),
        output_usd_per_million=float(match[2]),
    )


def with_prices(inputs: RunInputs, on_date: date, assumed: Price | None) -> RunInputs:
    """Return the inputs with each model's price on a day; `assumed` stands in for missing ones."""
    models = tuple(
        replace(model, price=price_of(model, inputs.project.prices, on_date) or assumed)
        for model in inputs.models
    )
    return replace(inputs, models=models)


def refuse_unpriced(models: tuple[ResolvedModel, ...]) -> None:
    """Refuse a cost limit for models of which nobody knows what they cost.

    Raises:
        ConfigError: naming each of them.
    """
    advice = "add it to `prices` in benchlake.yaml, or give --assume-price IN/OUT (0/0 is free)"
    problems = [
        Problem(
            None,
            f"--max-cost: model `{model.model_id}` has no price",
            found=f"`{model.model}` at {model.base_url}",
            advice=advice,
        )
        for model in models
        if model.price is None
    ]
    if problems:
        raise ConfigError(problems)


def cost_of(execution: Execution, price: Price | None) -> int | None:
    """Return what a trial did cost, in nano-dollars: as the server says, else by its price.

    None when it cannot be told, or when no request was made.
    """
    reply = execution.reply
    if execution.attempt_count == 0:
        return None
    if reply.cost_usd is not None:
        return round(reply.cost_usd * NANO)
    usage = reply.usage
    if price is None or (isinstance(usage.raw, dict) and usage.raw.get("is_byok") is True):
        return None  # with a key of one's own at an upstream nobody knows what a router leaves out
    return price.cost_nano_usd(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cached=usage.cached_input_tokens,
        cache_write=usage.cache_write_tokens,
        reasoning=usage.reasoning_tokens,
    )

"""What tokens cost: dated prices, the table that finds one, and costs in whole nano-dollars.

A cost that is not known is None, never 0. Sums of floats drift and depend on their order; a price
is therefore taken as whole micro-dollars per million tokens, which are 10^-12 dollars a token.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import Field

from schemas.base import NonEmpty, Record, Unit

NANO = 1_000_000_000
"""Nano-dollars in a dollar."""

PerMillion = Annotated[float, Field(ge=0, le=1_000_000), Unit("USD per million tokens")]


class Price(Record):
    """What one model's tokens cost from a day on, until a later entry of the same name."""

    model: NonEmpty = Field(
        description="The model as it is requested; without a vendor prefix it fits with any."
    )
    valid_from: date = Field(description="First day of the price, as YYYY-MM-DD.")
    input_usd_per_million: PerMillion = Field(description="US dollars per million input tokens.")
    output_usd_per_million: PerMillion = Field(description="US dollars per million output tokens.")
    cached_input_usd_per_million: PerMillion | None = Field(
        default=None, description="For input tokens read from the provider's cache, where known."
    )

    @property
    def is_free(self) -> bool:
        """Return whether no number of tokens costs anything."""
        return not (self.input_usd_per_million or self.output_usd_per_million)

    def cost_nano_usd(
        self, input_tokens: int | None, cached_input_tokens: int | None, output_tokens: int | None
    ) -> int | None:
        """Return a cost in nano-dollars, half a nano-dollar rounded up, or None when unknown.

        Args:
            input_tokens: all of them, cached ones included.
            cached_input_tokens: those among them read from a cache; None counts as none, which is
                what servers without a cache report.
            output_tokens: generated tokens, reasoning included.

        Returns:
            None without token counts, with more cached than input tokens, and for cached tokens
            whose price is not known.
        """
        cached = cached_input_tokens or 0
        if input_tokens is None or output_tokens is None or cached > input_tokens:
            return None
        cached_price = self.cached_input_usd_per_million
        if cached and cached_price is None:
            return None
        pico = (
            (input_tokens - cached) * _micro(self.input_usd_per_million)
            + cached * _micro(cached_price or 0.0)
            + output_tokens * _micro(self.output_usd_per_million)
        )
        return (pico + 500) // 1000


def _micro(usd: float) -> int:
    """Return dollars as whole micro-dollars: 0.0375 is 37,500."""
    return round(usd * 1_000_000)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The user's own prices, and behind them the packaged list prices."""

    own: tuple[Price, ...] = ()

    def find(self, model: str, on_date: date, *, list_prices: bool = True) -> Price | None:
        """Return the price in force on a day, or None when there is none.

        The user's own entries come first. In each list the model's whole name counts before its
        name without a `vendor/` prefix; among entries of a name the latest that has begun.

        Args:
            model: as requested, such as `openai/gpt-4o-mini`.
            on_date: day of the request, UTC.
            list_prices: look into the packaged prices too; false for a server that is not the
                vendor's own, which may serve anything under a known name.
        """
        found = _latest(self.own, model, on_date)
        if found is None and list_prices:
            found = _latest(packaged_prices(), model, on_date)
        return found


def _latest(prices: Iterable[Price], model: str, on_date: date) -> Price | None:
    begun = [price for price in prices if price.valid_from <= on_date]
    for name in (model, model.partition("/")[2]):
        entries = [price for price in begun if price.model == name]
        if entries:
            return max(entries, key=lambda price: price.valid_from)
    return None


@cache
def packaged_prices() -> tuple[Price, ...]:
    """Return the list prices that come with the package, read at the first call."""
    import yaml  # noqa: PLC0415 - most runs never ask for a price

    text = files("schemas").joinpath("defaults/prices.yaml").read_text(encoding="utf-8")
    entries = yaml.load(text, Loader=yaml.CSafeLoader)["prices"]
    return tuple(Price.model_validate(entry) for entry in entries)

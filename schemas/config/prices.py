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
    cache_write_usd_per_million: PerMillion | None = Field(
        default=None,
        description="For input tokens written to the provider's cache, where known; without a fee "
        "for it, the price of input tokens.",
    )
    reasoning_usd_per_million: PerMillion | None = Field(
        default=None,
        description="For output tokens spent on reasoning; the price of output tokens unless "
        "given.",
    )

    @property
    def is_free(self) -> bool:
        """Return whether no number of tokens costs anything."""
        return not (self._dearest_input or self._dearest_output)

    @property
    def _dearest_input(self) -> float:
        """Of the known prices of an input token."""
        special = (self.cached_input_usd_per_million, self.cache_write_usd_per_million)
        return max(self.input_usd_per_million, *(rate or 0.0 for rate in special))

    @property
    def _dearest_output(self) -> float:
        return max(self.output_usd_per_million, self.reasoning_usd_per_million or 0.0)

    def cost_nano_usd(
        self,
        *,
        input: int | None,
        output: int | None,
        cached: int | None = None,
        cache_write: int | None = None,
        reasoning: int | None = None,
    ) -> int | None:
        """Return a cost in nano-dollars, half a nano-dollar rounded up, or None when unknown.

        The parts may be None, which counts as none of them: servers without a cache and models
        without reasoning say nothing about either.

        Args:
            input: all tokens that were sent, cached and written ones included.
            output: all tokens that came back, reasoning included.
            cached: those of the input that were read from a cache.
            cache_write: those of the input that were written to a cache.
            reasoning: those of the output that were spent on reasoning; without a price of their
                own they cost what output costs.

        Returns:
            None without `input` or `output`, with parts larger than their whole, and for cached
            or written tokens whose price is not known: some vendors charge more than the input
            price for writing, and others do not.
        """
        read, written, thought = cached or 0, cache_write or 0, reasoning or 0
        if input is None or output is None or read + written > input or thought > output:
            return None
        read_rate, write_rate = self.cached_input_usd_per_million, self.cache_write_usd_per_million
        if (read and read_rate is None) or (written and write_rate is None):
            return None
        own = self.reasoning_usd_per_million
        return _nano(
            (input - read - written, self.input_usd_per_million),
            (read, read_rate or 0.0),
            (written, write_rate or 0.0),
            (output - thought, self.output_usd_per_million),
            (thought, self.output_usd_per_million if own is None else own),
        )

    def most_nano_usd(self, *, input: int | None, output: int | None) -> int | None:
        """Return the most that tokens may cost whatever their parts; None for unknown counts."""
        if input is None or output is None:
            return None
        return _nano((input, self._dearest_input), (output, self._dearest_output))


def _nano(*parts: tuple[int, float]) -> int:
    """Return what tokens cost at their prices, summed up before it is rounded."""
    pico = sum(tokens * round(usd_per_million * 1_000_000) for tokens, usd_per_million in parts)
    return (pico + 500) // 1000


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
        return found or (_latest(packaged_prices(), model, on_date) if list_prices else None)


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

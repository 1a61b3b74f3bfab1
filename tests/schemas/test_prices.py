"""Prices by day and name, and costs that are exact or unknown, never zero by accident."""

import subprocess
import sys
from datetime import date
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.prices import Price, PriceTable, packaged_prices

TODAY = date(2026, 11, 21)


def price(model="m", day=date(2026, 1, 1), **fields):
    rates = {"input_usd_per_million": 1.0, "output_usd_per_million": 4.0}
    return Price(model=model, valid_from=day, **(rates | fields))


def test_the_latest_entry_that_has_begun_is_in_force():
    first, second, future = (price(day=date(2026, month, 1)) for month in (3, 6, 12))
    table = PriceTable((second, future, first))

    assert table.find("m", date(2026, 2, 28)) is None
    assert table.find("m", date(2026, 3, 1)) is first
    assert table.find("m", date(2026, 5, 31)) is first
    assert table.find("m", TODAY) is second


def test_the_whole_name_counts_before_the_name_without_its_vendor():
    bare = price("m", date(2026, 9, 1))
    whole = price("vendor/m", date(2026, 1, 1))
    table = PriceTable((bare, whole))

    assert table.find("vendor/m", TODAY) is whole
    assert table.find("other/m", TODAY) is bare
    assert table.find("m", TODAY) is bare


@pytest.mark.parametrize("name", ["x", "m:free", "m-large", "M", "a/b/m", "", "vendor/"])
def test_a_name_that_is_not_listed_has_no_price(name):
    assert PriceTable((price(),)).find(name, TODAY) is None


def test_a_name_with_a_vendor_does_not_price_the_bare_name():
    """`m` on a server of one's own is not what a vendor sells as `vendor/m`."""
    assert PriceTable((price("vendor/m"),)).find("m", TODAY) is None


def test_own_prices_come_before_the_packaged_ones():
    own = price("gpt-4o-mini", date(2020, 1, 1))

    assert PriceTable((own,)).find("openai/gpt-4o-mini", TODAY) is own
    assert PriceTable().find("openai/gpt-4o-mini", TODAY).output_usd_per_million == 0.6
    assert PriceTable().find("gpt-4o-mini", TODAY, list_prices=False) is None
    assert PriceTable((own,)).find("gpt-4o-mini", TODAY, list_prices=False) is own


def test_a_cost_is_that_of_the_price_list():
    """1,000 fresh and 200 cached input tokens, 300 output tokens."""
    rates = price(
        input_usd_per_million=0.15, cached_input_usd_per_million=0.075, output_usd_per_million=0.6
    )

    assert rates.cost_nano_usd(1200, 200, 300) == 150_000 + 15_000 + 180_000
    assert rates.cost_nano_usd(1200, None, 300) == 180_000 + 180_000
    assert rates.cost_nano_usd(0, 0, 0) == 0


def test_half_a_nano_dollar_is_rounded_up():
    assert price(input_usd_per_million=0.0005).cost_nano_usd(1, None, 0) == 1
    assert price(input_usd_per_million=0.000499).cost_nano_usd(1, None, 0) == 0


@pytest.mark.parametrize("tokens", [(None, None, 1), (1, None, None), (None, 1, None), (1, 2, 1)])
def test_counts_that_are_missing_or_contradict_each_other_have_no_cost(tokens):
    rates = price(cached_input_usd_per_million=0.5)

    assert rates.cost_nano_usd(*tokens) is None


def test_cached_tokens_without_a_price_of_their_own_have_no_cost():
    assert price().cost_nano_usd(10, 4, 1) is None
    assert price().cost_nano_usd(10, 0, 1) == 14_000


@given(
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
def test_a_cost_is_exact_for_any_number_of_tokens(sent, received, micro_in, micro_out):
    rates = price(input_usd_per_million=micro_in / 1e6, output_usd_per_million=micro_out / 1e6)
    exact = (Decimal(sent) * micro_in + Decimal(received) * micro_out) / 1000

    assert abs(rates.cost_nano_usd(sent, None, received) - exact) <= Decimal("0.5")


@pytest.mark.parametrize("rate", [-0.01, float("nan"), float("inf"), 2_000_000])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(ValidationError):
        price(input_usd_per_million=rate)


def test_the_packaged_list_is_in_order_and_already_valid():
    prices = packaged_prices()

    assert len({(one.model, one.valid_from) for one in prices}) == len(prices)
    for one in prices:
        assert one.valid_from <= TODAY
        assert 0 < one.input_usd_per_million < one.output_usd_per_million
        assert (one.cached_input_usd_per_million or 0) < one.input_usd_per_million
    for before, after in pairwise(prices):
        assert before.model != after.model or before.valid_from < after.valid_from


def test_the_packaged_list_is_read_only_when_a_price_is_asked_for():
    code = (
        "import sys, datetime; from schemas.prices import PriceTable; table = PriceTable(); "
        "assert 'yaml' not in sys.modules; "
        "assert table.find('gpt-4o', datetime.date(2026, 1, 1)) and 'yaml' in sys.modules"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)

"""Prices by day and name, and costs that are exact or unknown, never zero by accident."""

import subprocess
import sys
from datetime import date
from fractions import Fraction
from itertools import pairwise
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.config.prices import Price, PriceTable, packaged_prices

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


RATES = {
    "input_usd_per_million": 0.15,
    "cached_input_usd_per_million": 0.075,
    "cache_write_usd_per_million": 0.1875,
    "output_usd_per_million": 0.6,
    "reasoning_usd_per_million": 0.3,
}


@pytest.mark.parametrize(
    ("tokens", "nano"),
    [
        ({"input": 1000, "output": 300}, 150_000 + 180_000),
        ({"input": 1200, "output": 300, "cached": 200}, 150_000 + 15_000 + 180_000),
        ({"input": 1400, "output": 0, "cached": 200, "cache_write": 200},
         150_000 + 15_000 + 37_500),
        ({"input": 0, "output": 300, "reasoning": 100}, 120_000 + 30_000),
        ({"input": 400, "output": 9, "cached": 200, "cache_write": 200, "reasoning": 9},
         15_000 + 37_500 + 2_700),
        ({"input": 0, "output": 0, "cached": 0, "cache_write": 0, "reasoning": 0}, 0),
    ],
)  # fmt: skip
def test_a_cost_is_that_of_the_price_list(tokens, nano):
    assert price(**RATES).cost_nano_usd(**tokens) == nano


def test_half_a_nano_dollar_is_rounded_up():
    assert price(input_usd_per_million=0.0005).cost_nano_usd(input=1, output=0) == 1
    assert price(input_usd_per_million=0.000499).cost_nano_usd(input=1, output=0) == 0


@pytest.mark.parametrize(
    "tokens",
    [
        {"input": None, "output": 1},
        {"input": 1, "output": None},
        {"input": None, "output": 1, "cached": 1},
        {"input": 1, "output": 1, "cached": 2},
        {"input": 1, "output": 1, "cache_write": 2},
        {"input": 3, "output": 1, "cached": 2, "cache_write": 2},
        {"input": 1, "output": 1, "reasoning": 2},
    ],
)
def test_counts_that_are_missing_or_contradict_each_other_have_no_cost(tokens):
    assert price(**RATES).cost_nano_usd(**tokens) is None


@pytest.mark.parametrize("part", ["cached", "cache_write"])
def test_tokens_of_a_cache_without_a_price_of_their_own_have_no_cost(part):
    assert price().cost_nano_usd(input=10, output=1, **{part: 4}) is None
    assert price().cost_nano_usd(input=10, output=1, **{part: 0}) == 14_000


def test_reasoning_without_a_price_of_its_own_costs_what_output_costs():
    assert price().cost_nano_usd(input=0, output=10, reasoning=4) == 40_000
    assert price(reasoning_usd_per_million=0).cost_nano_usd(input=0, output=10, reasoning=4) == 24e3


def test_a_price_is_free_only_without_any_rate():
    nothing = {"input_usd_per_million": 0, "output_usd_per_million": 0}

    assert price(**nothing).is_free
    for name in RATES:
        assert price(**nothing | {name: 0}).is_free
        assert not price(**nothing | {name: 0.1}).is_free


SPLITS = st.fixed_dictionaries(
    {name: st.integers(0, 10**10) for name in ("fresh", "cached", "cache_write", "said", "thought")}
)
MICROS = st.fixed_dictionaries({name: st.integers(0, 10**9) for name in RATES})


def counts_of(split):
    return {
        "input": split["fresh"] + split["cached"] + split["cache_write"],
        "cached": split["cached"],
        "cache_write": split["cache_write"],
        "output": split["said"] + split["thought"],
        "reasoning": split["thought"],
    }


@given(SPLITS, MICROS)
def test_a_cost_is_the_exact_one_rounded_half_up(split, micros):
    rates = price(**{name: micro / 1e6 for name, micro in micros.items()})
    exact = sum(
        Fraction(tokens * micro, 1000)
        for tokens, micro in [
            (split["fresh"], micros["input_usd_per_million"]),
            (split["cached"], micros["cached_input_usd_per_million"]),
            (split["cache_write"], micros["cache_write_usd_per_million"]),
            (split["said"], micros["output_usd_per_million"]),
            (split["thought"], micros["reasoning_usd_per_million"]),
        ]
    )
    counts = counts_of(split)
    cost = rates.cost_nano_usd(**counts)

    assert type(cost) is int
    assert cost == floor(exact + Fraction(1, 2))
    assert cost <= rates.most_nano_usd(input=counts["input"], output=counts["output"])


@given(SPLITS, MICROS, st.sampled_from(["fresh", "cached", "cache_write", "said", "thought"]))
def test_more_tokens_of_any_kind_never_cost_less(split, micros, kind):
    rates = price(**{name: micro / 1e6 for name, micro in micros.items()})
    more = split | {kind: split[kind] + 1}

    assert rates.cost_nano_usd(**counts_of(more)) >= rates.cost_nano_usd(**counts_of(split))


@given(st.lists(SPLITS, max_size=8), MICROS, st.randoms())
def test_a_sum_of_costs_does_not_depend_on_their_order(splits, micros, random):
    rates = price(**{name: micro / 1e6 for name, micro in micros.items()})
    costs = [rates.cost_nano_usd(**counts_of(split)) for split in splits]
    shuffled = random.sample(costs, len(costs))

    assert sum(costs) == sum(shuffled)
    assert sum(costs[:3]) + sum(costs[3:]) == sum(shuffled)


def test_the_most_of_an_unknown_number_of_tokens_is_unknown():
    assert price().most_nano_usd(input=None, output=1) is None
    assert price().most_nano_usd(input=1, output=None) is None


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
        has_cache = one.cached_input_usd_per_million is not None
        assert (one.cache_write_usd_per_million is not None) is has_cache
        fee = 1.25 if "claude" in one.model else 1
        assert (one.cache_write_usd_per_million or 0) in (0, one.input_usd_per_million * fee)
    for before, after in pairwise(prices):
        assert before.model != after.model or before.valid_from < after.valid_from


def test_the_packaged_list_is_read_only_when_a_price_is_asked_for():
    code = (
        "import sys, datetime; from schemas.config.prices import PriceTable; table = PriceTable(); "
        "assert 'yaml' not in sys.modules; "
        "assert table.find('gpt-4o', datetime.date(2026, 1, 1)) and 'yaml' in sys.modules"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)

"""Which model for which need: what fits, what does not, and what nobody knows yet."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.metrics.case_rate import NO_RATE, case_rate
from analyze.metrics.intervals import wilson_shrunk
from analyze.metrics.more_cases import more_cases_above, more_cases_for_tier
from analyze.metrics.tiers import tier_confident, tier_of
from analyze.route.judge import route
from analyze.route.text import route_json, route_lines
from analyze.route.values import Needs, Option


def rate(passed, cases):
    """Return the rate of so many cases of one trial each."""
    return case_rate([1] * passed + [0] * (cases - passed), [1] * cases)


def option(model="m", **fields):
    base = {
        "provider": "openrouter", "model": model, "thinking_level": None, "tool_use": rate(30, 30),
        "quality": rate(90, 100), "cost_usd": 0.001, "n_cost_known": 100, "n_measured": 100,
        "e2e_p95_ms": 800.0, "n_latency": 100,
    }  # fmt: skip
    return Option(**(base | fields))


def reason(found, aspect, place=0):
    return next(r for r in found.judged[place].reasons if r.aspect == aspect)


@pytest.mark.parametrize(
    ("tools", "state", "more"),
    [
        (rate(16, 16), "met", None),
        (rate(15, 15), "unknown", 1),
        (rate(1, 1), "unknown", 15),
        (rate(9, 10), "unknown", 52),
        (rate(6, 10), "missed", 87),
        (rate(0, 30), "missed", None),
        (NO_RATE, "unknown", 16),
        (rate(4, 5), "unknown", None),
    ],
)
def test_tool_access_is_for_a_confident_first_tier_alone(tools, state, more):
    found = route([option(tool_use=tools)], Needs(tool_use=True))

    assert (reason(found, "tool_use").state, reason(found, "tool_use").more_cases) == (state, more)
    assert (found.chosen is None) == (state != "met")


def test_too_little_data_says_how_many_cases_are_lacking():
    found = route([option(tool_use=rate(10, 10))], Needs(tool_use=True))

    assert "insufficient data: 6 more cases" in reason(found, "tool_use").text
    assert found.judged[0].is_open


def test_quality_is_judged_by_the_lower_end_of_its_interval():
    needs = Needs(min_quality=0.8)
    sure, unsure, worse = rate(90, 100), rate(9, 10), rate(70, 100)
    found = route(
        [option("a", quality=sure), option("b", quality=unsure), option("c", quality=worse)], needs
    )

    assert [one.option.model for one in found.judged] == ["a", "b", "c"]
    assert [reason(found, "quality", n).state for n in range(3)] == ["met", "unknown", "missed"]
    assert reason(found, "quality", 1).more_cases == 52


def test_rate_above_the_floor_by_one_of_many_trials_is_not_met():
    found = route([option(quality=rate(81, 100))], Needs(min_quality=0.8))

    assert reason(found, "quality").state == "unknown"


def test_equal_quality_is_told_apart_by_cost_and_then_by_latency():
    options = [
        option("slow", cost_usd=0.001, e2e_p95_ms=900.0),
        option("dear", cost_usd=0.002, e2e_p95_ms=100.0),
        option("quick", cost_usd=0.001, e2e_p95_ms=0.0),
        option("unpriced", cost_usd=None, n_cost_known=0),
        option("best", quality=rate(99, 100), cost_usd=9.0),
    ]

    found = route(options, Needs())

    assert [one.option.model for one in found.judged] == [
        "best", "quick", "slow", "dear", "unpriced",
    ]  # fmt: skip
    assert found.chosen.model == "best"


def test_costs_are_of_a_thousand_trials():
    dear, cheap = option("dear", cost_usd=0.0011), option("cheap", cost_usd=0.0009)

    found = route([dear, cheap], Needs(max_cost_usd=1.0))

    assert found.chosen == cheap
    assert reason(found, "cost", 1).text == "cost 1.10 USD per 1,000 trials, above 1.00"


def test_unknown_cost_is_neither_cheap_nor_dear():
    found = route([option(cost_usd=None, n_cost_known=0)], Needs(max_cost_usd=1.0))

    assert found.chosen is None
    assert reason(found, "cost").state == "unknown"


def test_latency_without_enough_trials_is_insufficient_data_however_low():
    found = route([option(e2e_p95_ms=1.0, n_latency=99)], Needs(max_latency_ms=1_000))

    assert found.chosen is None
    assert reason(found, "latency").text.endswith("insufficient data: 99 of 100 successes")


def test_limits_themselves_are_allowed():
    needs = Needs(max_cost_usd=1.0, max_latency_ms=800)

    assert route([option()], needs).chosen == option()


def test_where_nothing_fits_each_need_has_its_nearest_miss():
    slow = option("slow", e2e_p95_ms=2_000.0, cost_usd=0.0001)
    dear = option("dear", e2e_p95_ms=1_200.0, cost_usd=0.1)

    found = route([slow, dear], Needs(max_cost_usd=0.05, max_latency_ms=1_000))

    assert found.chosen is None
    assert {one.aspect: one.option.model for one in found.nearest} == {
        "cost": "slow", "latency": "dear",
    }  # fmt: skip
    text = "\n".join(route_lines(found, Needs(max_cost_usd=0.05, max_latency_ms=1_000), None))
    assert "nothing fits; nearest to each need:" in text
    assert "latency: dear (openrouter): p95 latency 1,200 ms of 100 successes, above" in text


def test_every_candidate_has_a_reason_for_every_aspect():
    found = route([option("a"), option("b", tool_use=NO_RATE, quality=NO_RATE)], Needs())

    assert all(len(one.reasons) == 4 for one in found.judged)
    assert all(one.fits for one in found.judged)


def test_without_a_single_model_nothing_is_chosen():
    found = route([], Needs(tool_use=True))

    assert (found.chosen, found.nearest) == (None, ())
    assert "no model was asked anything yet" in "\n".join(route_lines(found, Needs(), None))


def test_names_are_shown_as_text():
    found = route([option("evil\x1b[2J\u202e")], Needs())

    text = "\n".join(route_lines(found, Needs(), None))
    assert "evil\\x1b[2J\\u202e" in text
    assert "\x1b" not in text


def test_json_has_the_same_answer():
    needs = Needs(tool_use=True, max_cost_usd=2.0)
    document = json.loads(route_json(route([option()], needs), needs, "smoke"))

    assert document["chosen"] == {
        "provider": "openrouter", "model": "m", "thinking_level": None,
    }  # fmt: skip
    assert document["needs"]["max_cost_usd_per_1000_trials"] == 2.0
    assert document["models"][0]["cost_usd_per_1000_trials"] == 1.0
    assert document["models"][0]["quality"]["ci95"]["method"] == "wilson_shrunk"


@given(st.integers(0, 60), st.integers(2, 60))
def test_so_many_more_cases_of_the_same_kind_make_a_tier_confident(passed, cases):
    tools = rate(min(passed, cases), cases)
    more = more_cases_for_tier(tools.rate, tools.n_cases, tools.interval)
    tier = tier_of(tools.rate)
    if more is None:
        assert tools.rate in {0.5, 0.8} or cases > 40
    elif more == 0:
        assert tier_confident(tier, tools.interval) is True
    elif tools.rate in {0.0, 1.0}:
        n = cases + more
        assert tier_confident(tier, wilson_shrunk([tools.rate] * n, [1] * n)) is True
        n -= 1
        assert tier_confident(tier, wilson_shrunk([tools.rate] * n, [1] * n)) is not True


def test_a_rate_that_is_not_above_its_floor_never_gets_there():
    tools = rate(8, 10)

    assert more_cases_above(0.8, tools.rate, tools.n_cases, tools.interval) is None
    assert more_cases_above(0.0, tools.rate, tools.n_cases, tools.interval) == 0

"""Which model for which need: what fits, what does not, and what nobody knows yet."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.render.text import record_json
from analyze.routing.order import Draws, paired_quality, scope_rate
from analyze.routing.render import route_document, route_result
from analyze.routing.route import route
from analyze.routing.values import Needs, Option
from analyze.stats.intervals import wilson_shrunk
from analyze.stats.power.exact import more_cases_above, more_cases_for_tier
from analyze.stats.rates import tier_confident, tier_of
from tests.support.analyze_cli import on_screen

NO_SCOPE_RATE = scope_rate(())


def rate(passed, cases):
    """Return the rate of so many cases of one trial each."""
    return scope_rate(list(asked(passed, cases).values()))


def option(model="m", **fields):
    base = {
        "provider": "openrouter", "model": model, "thinking_level": None, "tool_use": rate(30, 30),
        "quality": rate(90, 100), "cost_usd": 0.001, "n_cost_known": 100, "n_measured": 100,
        "e2e_p95_ms": 800.0, "n_latency": 100,
    }  # fmt: skip
    values = base | fields
    n_passed, n_cases = values["quality"].observed.n_hits, values["quality"].n_cases
    values.setdefault("cases", asked(n_passed, n_cases))
    return Option(**values)


def asked(passed, cases, start=0):
    """Return so many cases of one trial each, from the one of a number on; the first ones pass."""
    names = [("s", f"c{start + n}", None) for n in range(cases)]
    return {case: Draws(int(n < passed), 1, case) for n, case in enumerate(names)}


def reason(found, aspect, place=0):
    return next(r for r in found.judged[place].reasons if r.aspect == aspect)


@pytest.mark.parametrize(
    ("tools", "state", "more"),
    [
        (rate(16, 16), "met", None),
        (rate(15, 15), "unknown", 1),
        (rate(1, 1), "unknown", 15),
        (rate(9, 10), "unknown", 98),
        (rate(6, 10), "missed", 249),
        (rate(0, 30), "missed", None),
        (NO_SCOPE_RATE, "unknown", 16),
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
    assert reason(found, "quality", 1).more_cases == 98


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
    assert reason(found, "latency").text.endswith("insufficient data: 99 of 100 trials")


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
    text = on_screen(route_document(found, Needs(max_cost_usd=0.05, max_latency_ms=1_000), None))
    assert "nothing fits; nearest to each need:" in text
    assert "latency: dear (openrouter): p95 latency 1,200 ms of 100 trials, above" in text


def test_every_candidate_has_a_reason_for_every_aspect():
    unknown = option("b", tool_use=NO_SCOPE_RATE, quality=NO_SCOPE_RATE)
    found = route([option("a"), unknown], Needs())

    assert all(len(one.reasons) == 4 for one in found.judged)
    assert [(one.fits, one.is_open) for one in found.judged] == [(True, False), (False, True)]


def test_without_a_single_model_nothing_is_chosen():
    found = route([], Needs(tool_use=True))

    assert (found.chosen, found.nearest) == (None, ())
    assert "no model was asked anything yet" in on_screen(route_document(found, Needs(), None))


def test_names_are_shown_as_text():
    found = route([option("evil\x1b[2J\u202e")], Needs())

    text = on_screen(route_document(found, Needs(), None))
    assert "evil\\x1b[2J\\u202e" in text
    assert "\x1b" not in text


def test_json_has_the_same_answer():
    needs = Needs(tool_use=True, max_cost_usd=2.0)
    document = json.loads(record_json(route_result(route([option()], needs), needs, "smoke")))

    assert document["chosen"] == {
        "provider": "openrouter", "model": "m", "thinking_level": None,
    }  # fmt: skip
    assert document["needs"]["max_cost_usd_per_1000_trials"] == 2.0
    assert document["models"][0]["cost_usd_per_1000_trials"] == 1.0
    assert document["models"][0]["quality"]["ci95"]["method"] == "wilson_shrunk"


@given(st.integers(0, 60), st.integers(2, 60))
def test_so_many_more_cases_of_the_same_kind_make_a_tier_confident(passed, cases):
    tools = rate(min(passed, cases), cases).observed
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
    tools = rate(8, 10).observed

    assert more_cases_above(0.8, tools.rate, tools.n_cases, tools.interval) is None
    assert more_cases_above(0.0, tools.rate, tools.n_cases, tools.interval) == 0


def order(*options, **needs):
    return [one.option.model for one in route(options, Needs(**needs)).judged]


def half_asked(model="easy", passed=20, **fields):
    """An option that was asked the first 20 of 40 cases."""
    quality = scope_rate(asked(passed, 20).values(), range(20))
    return option(model, quality=quality, cases=asked(passed, 20), **fields)


def test_a_model_asked_the_easy_half_is_not_named_before_its_equal_that_was_asked_all():
    whole = option("whole", quality=rate(25, 40), cost_usd=0.002)
    easy = half_asked(cost_usd=0.001)
    found = route([easy, whole], Needs())

    assert found.chosen == whole
    compared = found.judged[1].compared
    assert (compared.standing, compared.pair.n_shared, compared.pair.p) == ("thinner", 20, 1.0)
    assert compared.text == (
        "beside whole: quality over the 20 cases that both were asked 100.0 %, whole 100.0 %, "
        "p 1.000: no difference shown, and it was asked 20 of the 40 cases of whole"
    )


def test_a_model_asked_less_and_better_there_is_named_first_and_what_it_lacks_is_said():
    whole = option("whole", quality=rate(10, 40))
    found = route([half_asked(), whole], Needs())

    assert found.chosen.model == "easy"
    assert found.judged[1].compared.standing == "worse"
    assert "quality over 20 of its 40 cases that both were asked 50.0 %, easy 100.0 %" in (
        found.judged[1].compared.text
    )
    assert "not asked 20 of the 40 cases that others were" in reason(found, "quality").text


def test_cases_it_was_not_asked_count_against_a_model_that_has_to_be_good():
    found = route([half_asked()], Needs(min_quality=0.8))

    assert reason(found, "quality").state == "unknown"
    assert reason(found, "quality").more_cases == 20
    missed = route([half_asked(passed=2)], Needs(min_quality=0.8))
    assert reason(missed, "quality").state == "missed"
    assert "below 80.0 % even with those as passed" in reason(missed, "quality").text


def test_one_lacking_case_of_many_settles_nothing():
    quality = scope_rate(asked(200, 200).values(), ["other"])
    found = route([option(quality=quality)], Needs(min_quality=0.9))

    assert reason(found, "quality").state == "met"
    assert "at least 90.0 % even with those as failed" in reason(found, "quality").text


def test_tools_it_was_not_asked_to_use_count_against_a_model_as_well():
    found = route(
        [option(tool_use=scope_rate(asked(20, 20).values(), range(20)))], Needs(tool_use=True)
    )

    assert reason(found, "tool_use").state == "unknown"
    assert "not asked 20 of the 40 cases" in reason(found, "tool_use").text


def test_between_models_without_a_shared_case_nothing_is_recommended():
    one = option("one", quality=rate(30, 30))
    two = option("two", quality=rate(10, 30), cases=asked(10, 30, start=500))
    found = route([one, two], Needs())

    assert found.chosen is None
    assert found.apart == (two,)
    text = on_screen(route_document(found, Needs(), None))
    assert "no recommendation: these fit, and the first shares no case with the others:" in text
    assert "shares no case with one: no recommendation between them" in text
    record = route_result(found, Needs(), None)
    assert (record.chosen, record.not_comparable[0].model) == (None, "two")


def test_a_third_model_that_is_better_than_both_makes_them_comparable_to_it():
    one = option("one", quality=rate(10, 30))
    two = option("two", quality=rate(10, 30), cases=asked(10, 30, start=500))
    three = option("three", quality=rate(60, 60), cases=asked(30, 30) | asked(30, 30, start=500))

    assert route([one, two, three], Needs()).chosen == three


def test_models_without_any_verdict_are_told_apart_by_cost():
    dear, cheap = (
        option(name, quality=NO_SCOPE_RATE, cost_usd=cost)
        for name, cost in (("dear", 0.002), ("cheap", 0.001))
    )
    found = route([dear, cheap], Needs())

    assert found.chosen == cheap
    assert found.judged[1].compared.text == "beside cheap: neither has verdicts"


def test_where_a_quality_is_asked_for_and_met_only_what_is_shown_goes_before_the_price():
    good, cheap = (
        option("good", quality=rate(100, 100)),
        option("cheap", quality=rate(95, 100), cost_usd=0.0001),
    )

    assert order(good, cheap, min_quality=0.85) == ["good", "cheap"]  # 5 of 5: p 0.031
    close = option("close", quality=rate(96, 100), cost_usd=0.0001)
    found = route([good, close], Needs(min_quality=0.85))
    assert found.chosen == close
    assert found.judged[1].compared.text == (
        "beside close: quality over the 100 cases that both were asked 100.0 %, close 96.0 %, "
        "p 0.062: no difference shown; close is cheaper"
    )


def test_without_a_quality_to_reach_a_much_lower_rate_is_not_cheap():
    """Three of eight cases fail, which the test cannot show: nothing else would keep it out."""
    good, cheap = (
        option("good", quality=rate(8, 8)),
        option("cheap", quality=rate(5, 8), cost_usd=0.0001),
    )
    found = route([good, cheap], Needs())

    assert found.chosen == good
    assert found.judged[1].compared.standing == "likely_worse"
    assert "behind by 37.5 points, not shown" in found.judged[1].compared.text


def test_a_price_or_a_time_that_is_the_same_in_practice_decides_nothing():
    better = option("better", quality=rate(100, 100), cost_usd=0.00105, e2e_p95_ms=812.0)
    worse = option("worse", quality=rate(99, 100), cost_usd=0.001, e2e_p95_ms=811.0)

    assert order(worse, better) == ["better", "worse"]


def test_standings_in_a_circle_still_have_an_order():
    """Each is better than the next one where both were asked, by nine cases of nine."""
    beats = [("a", "b"), ("b", "c"), ("c", "a")]
    cases = {name: {} for name in "abc"}
    for place, (one, other) in enumerate(beats):
        cases[one] |= asked(9, 9, start=100 * place)
        cases[other] |= asked(0, 9, start=100 * place)
    options = [option(name, quality=rate(9, 18), cases=cases[name]) for name in "abc"]

    assert order(*options) == ["a", "b", "c"]
    assert order(*reversed(options)) == ["a", "b", "c"]


def test_a_percentile_among_the_time_outs_misses_every_limit():
    late = {"e2e_p95_ms": None, "n_latency": 66, "n_timeouts": 34}
    found = route([option(**late)], Needs(max_latency_ms=1e9))

    assert found.chosen is None
    assert reason(found, "latency").state == "missed"
    assert reason(found, "latency").text == (
        "p95 latency beyond the time limit, of 100 trials, 34.0 % of them timed out"
    )
    (model,) = route_result(found, Needs(), None).models
    assert (model.is_p95_beyond_limit, model.n_timeouts) == (True, 34)


def test_time_outs_are_named_where_the_percentile_is_within_the_limit():
    found = route([option(n_latency=96, n_timeouts=4)], Needs(max_latency_ms=1_000))

    assert reason(found, "latency").state == "met"
    assert reason(found, "latency").text.endswith("of 100 trials, 4.0 % of them timed out")


def test_a_number_near_its_bound_has_a_digit_more():
    found = route([option(e2e_p95_ms=2_000.4, quality=rate(7996, 10_000))],
                  Needs(max_latency_ms=2_000, min_quality=0.8))  # fmt: skip

    assert reason(found, "latency").text.startswith("p95 latency 2,000.4 ms")
    assert reason(found, "quality").text.startswith("quality 79.96 %")
    assert reason(found, "quality").text.endswith("below 80.0 %")


def test_cases_of_one_cluster_are_one_draw():
    """Nine cases of nine differ, and all of them are of one template: that shows nothing."""
    own = {case: draws._replace(unit="template") for case, draws in asked(9, 9).items()}
    other = {case: draws._replace(unit="template") for case, draws in asked(0, 9).items()}
    pair = paired_quality(own, other)

    assert (pair.n_shared, pair.own_rate, pair.other_rate) == (9, 1.0, 0.0)
    assert pair.p == 0.5
    rate = scope_rate(own.values(), ["template"])
    assert (rate.n_cases, rate.n_scope, rate.observed.n_cases, rate.least.interval) == (
        9,
        10,
        9,
        None,
    )
    assert rate.least.rate == 0.9


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"quality": rate(4, 4)}, "insufficient data: 1 more case"),
        ({"quality": rate(9, 10), "coverage": 0.9}, "90.0 % of its trials have a verdict"),
        ({"quality": rate(9, 10), "coverage": 0.9499}, "94.99 % of its trials have a verdict"),
    ],
)
def test_a_model_of_which_too_little_is_known_is_not_recommended(known, said):
    found = route([option("cheap", cost_usd=0.0, **known), option("dear")], Needs(max_cost_usd=9))

    assert found.chosen is not None
    assert found.chosen.model == "dear"
    (why,) = (
        one.text for judged in found.judged for one in judged.reasons
        if judged.option.model == "cheap" and one.aspect == "quality"
    )  # fmt: skip
    assert said in why

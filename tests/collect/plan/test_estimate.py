"""Tokens and costs before a run: rules of thumb, history, and unknowns that stay unknown."""

from dataclasses import replace
from datetime import date

import pytest

from collect.plan.estimate import MeanTokens, estimate
from collect.plan.plan import make_plan
from schemas.config.prices import Price, PriceTable

TODAY = date(2026, 11, 21)
OWN = Price(
    model="r", valid_from=TODAY, input_usd_per_million=1000.0, output_usd_per_million=2000.0
)
OWN_TABLE = PriceTable((OWN,))
VENDOR = {"provider": "openai_chat", "requested_model": "gpt-4o-mini"}


@pytest.fixture
def two_cases(project):
    """Prompts of 400 and 401 characters, two repetitions each."""
    for case_id, length in (("a", 400), ("b", 401)):
        project.case(case_id, input={"messages": [{"role": "user", "content": "x" * length}]})
    project.model()
    project.profile(runner_defaults={"max_tokens": 50}, execution_policy={"run_repetitions": 2})
    return project


def estimates(project, prices=OWN_TABLE, keep=lambda trial: True, **options):
    inputs = project.load()
    plan = [trial for trial in make_plan(inputs, "r") if keep(trial)]
    return estimate(inputs, plan, prices, on_date=TODAY, **options)


def of_model(project, model):
    project.suite(models=[{"model_id": "m"} | model])
    return project


def test_input_goes_by_characters_and_output_up_to_max_tokens(two_cases):
    (one,) = estimates(two_cases)

    assert one.model_id == "m"
    assert one.input_tokens == 2 * (100 + 101)
    assert (one.output_tokens_low, one.output_tokens_high) == (0, 200)
    assert one.cost_low_nano_usd == 402 * 1_000_000
    assert one.cost_high_nano_usd == 402 * 1_000_000 + 200 * 2_000_000
    assert one.cost_text == "about $0.40 to $0.80"


def test_the_upper_end_takes_the_dearest_price_that_a_token_may_have(two_cases):
    special = {"cache_write_usd_per_million": 1250.0, "reasoning_usd_per_million": 3000.0}
    (one,) = estimates(two_cases, PriceTable((OWN.model_copy(update=special),)))

    assert one.cost_low_nano_usd == 402 * 1_000_000
    assert one.cost_high_nano_usd == 402 * 1_250_000 + 200 * 3_000_000


def test_without_a_limit_the_output_and_the_upper_cost_are_unknown(two_cases):
    two_cases.profile()
    (one,) = estimates(two_cases)

    assert (one.output_tokens_low, one.output_tokens_high) == (0, None)
    assert one.cost_high_nano_usd is None
    assert one.cost_text == "at least about $0.20: no max_tokens, so no upper end"


def test_one_case_without_a_limit_is_enough_for_an_unknown_upper_cost(two_cases):
    two_cases.profile()
    two_cases.case("a", runner={"type": "llm_probe", "max_tokens": 5})

    assert estimates(two_cases)[0].output_tokens_high is None


def test_without_a_price_the_cost_is_unknown_and_not_zero(two_cases):
    (one,) = estimates(two_cases, PriceTable())

    assert one.price is one.cost_low_nano_usd is one.cost_high_nano_usd is None
    assert one.cost_text == "cost unknown: no price"
    assert one.input_tokens == 402


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_request_options_stand_above_the_settings(two_cases, name):
    two_cases.model(request_options={name: 7})

    assert estimates(two_cases)[0].output_tokens_high == 4 * 7


def test_history_replaces_the_rule_of_thumb_case_by_case(two_cases):
    (one,) = estimates(two_cases, history={("m", "a"): MeanTokens(130, 20)})

    assert one.input_tokens == 2 * (130 + 101)
    assert (one.output_tokens_low, one.output_tokens_high) == (2 * 20, 2 * (20 + 50))


def test_with_history_for_all_there_is_one_figure(two_cases):
    history = {("m", "a"): MeanTokens(1, 1), ("m", "b"): MeanTokens(2, 2)}
    (one,) = estimates(two_cases, history=history)

    assert one.cost_low_nano_usd == one.cost_high_nano_usd == 6 * 1_000_000 + 6 * 2_000_000
    assert one.cost_text == "about $0.0180"


def test_attached_files_are_counted_as_they_are_sent(project):
    project.case(input={"messages": [{"role": "user", "content": "x"}], "attachments": ["a.txt"]})
    project.model()
    project.write("configs/cases/group/one/a.txt", "y" * 4000)

    assert estimates(project)[0].input_tokens > 1000


def test_only_the_trials_of_the_plan_are_counted(two_cases):
    (one,) = estimates(two_cases, keep=lambda trial: trial.case_id == "a")

    assert one.input_tokens == 200
    assert estimates(two_cases, keep=lambda trial: False) == ()


def test_list_prices_count_at_the_vendor_alone(two_cases, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    at_vendor = estimates(of_model(two_cases, VENDOR), PriceTable())[0]
    elsewhere = VENDOR | {"base_url": "http://127.0.0.1:9/v1"}
    local = estimates(of_model(two_cases, elsewhere), PriceTable())[0]
    own = OWN.model_copy(update={"model": "gpt-4o-mini"})
    priced = estimates(of_model(two_cases, elsewhere), PriceTable((own,)))[0]

    assert at_vendor.price.model == "gpt-4o-mini"
    assert at_vendor.cost_text == "about $0.0001 to $0.0002"
    assert local.price is None
    assert priced.price is own


def test_one_estimate_a_model_in_the_suites_order(two_cases):
    two_cases.suite(
        models=[
            {"model_id": name, "provider": "ollama_openai", "requested_model": name}
            for name in ("z", "a")
        ]
    )

    assert [one.model_id for one in estimates(two_cases)] == ["z", "a"]


def test_an_agents_own_prompts_are_not_guessed(two_cases):
    inputs = two_cases.load()
    plan = make_plan(inputs, "r")
    agents = tuple(replace(case, runner_type="openclaw") for case in inputs.cases)
    (one,) = estimate(replace(inputs, cases=agents), plan, OWN_TABLE, on_date=TODAY)

    assert one.input_tokens is one.output_tokens_high is one.cost_low_nano_usd is None
    assert one.cost_text == "cost unknown: no tokens to go by"


def test_each_api_has_its_own_name_for_the_limit_of_an_answer(two_cases):
    options = {"request_options": {"max_output_tokens": 5_000, "max_tokens": 7}}
    responses = {"provider": "openai_responses", "requested_model": "r"} | options
    (one,) = estimates(of_model(two_cases, responses))
    assert one.output_tokens_high == 4 * 5_000

    (one,) = estimates(of_model(two_cases, VENDOR | options))
    assert one.output_tokens_high == 4 * 7


@pytest.mark.parametrize(("tier", "is_known"), [("default", True), ("flex", False), (["x"], False)])
def test_list_prices_are_those_of_the_usual_service(two_cases, tier, is_known):
    model = VENDOR | {"request_options": {"service_tier": tier}}
    (one,) = estimates(of_model(two_cases, model), PriceTable())
    assert (one.price is not None) is is_known

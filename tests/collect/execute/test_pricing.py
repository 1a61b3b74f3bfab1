"""What a trial costs, and how a price is assumed where nobody knows one."""

import json
from dataclasses import replace
from datetime import date

import pytest

from collect.execute.budget import cost_of, parse_assumed, refuse_unpriced, with_prices
from collect.providers.base import Reply, Usage
from schemas.config.prices import Price
from schemas.errors import ConfigError
from tests.support.endpoint import chunk, sse, usage
from tests.support.executions import executed
from tests.support.kept_run import collect
from tests.support.run_rows import planned

TODAY = date(2026, 3, 1)
PRICE = Price(
    model="r",
    valid_from="2026-01-01",
    input_usd_per_million=1,
    output_usd_per_million=10,
    cached_input_usd_per_million=0.5,
    cache_write_usd_per_million=2,
    reasoning_usd_per_million=5,
)
PLAIN = Price(
    model="r", valid_from="2026-01-01", input_usd_per_million=1, output_usd_per_million=10
)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("0.15/0.60", 0.15, 0.6), ("0/0", 0, 0), ("3/15.000001", 3, 15.000001)],
)
def test_an_assumed_price_is_two_numbers(text, low, high):
    price = parse_assumed(text, TODAY)

    assert (price.input_usd_per_million, price.output_usd_per_million) == (low, high)
    assert price.valid_from == TODAY


@pytest.mark.parametrize(
    "text",
    ["", "1", "1/", "/1", "1/2/3", "-1/2", "1,5/2", "1e3/2", " 1/2", "nan/1", "1/٣", "1/2\n"],
)
def test_what_is_no_price_is_said(text):
    with pytest.raises(ConfigError) as no:
        parse_assumed(text, TODAY)

    assert "--assume-price" in str(no.value)
    assert "IN/OUT in US dollars per million tokens, such as 0.15/0.60" in str(no.value)


@pytest.fixture
def inputs(project):
    project.case()
    project.suite(
        models=[
            {"model_id": name, "provider": "ollama_openai", "requested_model": f"real-{name}",
             "base_url": "http://127.0.0.1:9/v1", "warmup": 0}
            for name in ("known", "unknown")
        ]
    )  # fmt: skip
    price = {"model": "real-known", "valid_from": "2026-02-01", "input_usd_per_million": 1,
             "output_usd_per_million": 2}  # fmt: skip
    project.write("benchlake.yaml", {"schema_version": 1, "prices": [price]})
    return project.load()


def test_an_assumed_price_stands_in_for_missing_ones_only(inputs):
    assumed = parse_assumed("7/8", TODAY)

    models = with_prices(inputs, TODAY, assumed).models

    assert [model.price.input_usd_per_million for model in models] == [1, 7]
    refuse_unpriced(models)


def test_a_price_counts_from_its_day_on(inputs):
    models = with_prices(inputs, date(2026, 1, 31), None).models
    assert [model.price for model in models] == [None, None]


def test_models_without_a_price_are_named_all_together(inputs):
    with pytest.raises(ConfigError) as no:
        refuse_unpriced(inputs.models)

    first, second = str(no.value).splitlines()
    assert "model `known` has no price" in first
    assert "`real-unknown` at http://127.0.0.1:9/v1" in second
    assert "--assume-price IN/OUT" in second
    assert "benchlake.yaml" in second


@pytest.mark.parametrize(
    ("attempts", "reply", "nano"),
    [
        (1, Reply(usage=Usage(1000, 100, raw={})), 2_000_000),
        (1, Reply(usage=Usage(1000, 100, None, 500, raw={})), 1_750_000),
        (1, Reply(usage=Usage(1000, 100, cache_write_tokens=500)), 2_500_000),
        (1, Reply(usage=Usage(1000, 100, reasoning_tokens=50)), 1_750_000),
        (1, Reply(usage=Usage(1000, 100, 50, 400, 400)), 1_950_000),
        (1, Reply(usage=Usage(1000, 100, cached_input_tokens=600, cache_write_tokens=600)), None),
        (1, Reply(usage=Usage(1000, 100, reasoning_tokens=101)), None),
        (3, Reply(usage=Usage(1000, 100, raw={}), cost_usd=0.5), 500_000_000),
        (1, Reply(usage=Usage(1000, 100, raw={}), cost_usd=0.0), 0),
        (1, Reply(usage=Usage(1000, None, raw={})), None),
        (1, Reply(usage=Usage(1000, 100, raw={"is_byok": True})), None),
        (1, Reply(usage=Usage(1000, 100, raw={"is_byok": False})), 2_000_000),
        (1, Reply(failure_type="timeout"), None),
        (0, Reply(failure_type="api_key_missing"), None),
    ],
)
def test_the_servers_word_counts_before_the_price(inputs, attempts, reply, nano):
    execution = executed(planned(), inputs.cases[0], reply, attempt_count=attempts)

    assert cost_of(execution, PRICE) == nano
    if reply.cost_usd is None:
        assert cost_of(execution, None) is None


@pytest.mark.parametrize(
    ("usage", "nano"),
    [
        (Usage(1000, 100, 50), 2_000_000),
        (Usage(1000, 100, 50, 0, 0), 2_000_000),
        (Usage(1000, 100, cached_input_tokens=1), None),
        (Usage(1000, 100, cache_write_tokens=1), None),
    ],
)
def test_a_price_without_rates_for_a_cache_prices_what_used_none(inputs, usage, nano):
    execution = executed(planned(), inputs.cases[0], usage=usage)

    assert cost_of(execution, PLAIN) == nano


def test_no_price_is_no_cost(inputs):
    models = with_prices(replace(inputs, models=inputs.models), TODAY, None).models
    assert models[1].price is None


NEW = ("run", "--suite", "s", "--run-profile", "p", "--json")


def costing(answers, tokens):
    raw = sse(chunk("ok"), chunk(finish="stop"), chunk() | {"usage": usage(10, tokens)})
    return lambda wire, request: wire.stream(raw)


def test_a_limited_cost_needs_prices_and_sends_nothing_without(project, endpoint):
    project.case()
    project.model(base_url=endpoint.base_url)

    done = collect(project.root, *NEW, "--max-cost", "1")

    assert done.returncode == 2
    assert "--max-cost: model `m` has no price" in done.stderr
    assert endpoint.requests == []
    assert not (project.root / "runs").exists()


def test_no_trial_begins_that_may_take_the_run_above_its_limit(project, endpoint, answers):
    for number in range(12):
        project.case(f"c{number:02d}")
    project.model(base_url=endpoint.base_url)
    project.profile(execution_policy={"max_concurrency": 4}, runner_defaults={"max_tokens": 100})
    endpoint.script = costing(answers, tokens=50)

    done = collect(project.root, *NEW, "--max-cost", "0.45", "--assume-price", "0/1000")

    report = json.loads(done.stdout)
    assert report["exit_code"] == done.returncode == 1
    assert report["cost_usd"] <= 0.45
    assert report["present"] == 8, "0.40 spent; the ninth may cost 0.10"
    assert len(endpoint.requests) == 8
    assert "--max-cost" in done.stderr
    lines = (project.root / report["run_dir"] / "results.jsonl").read_text().splitlines()
    *rows, last = map(json.loads, lines)
    assert (last["record_type"], last["event"]) == ("event", "run_stopped")
    results = [row for row in rows if row["record_type"] == "result"]
    assert [row["cost_source"] for row in results] == ["computed"] * 8

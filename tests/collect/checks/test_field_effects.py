"""What single fields of the configuration change: two values, all else the same, two outcomes."""

import asyncio
from datetime import date
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from analyze.comparison.verdict import effective_margin
from analyze.stats.power.planning import Planner
from analyze.stats.rates import tier_of
from collect.checks import judge
from collect.checks.declarative import run_check
from collect.checks.left import Trial
from collect.commands.plan import plan_text, preview
from collect.console.run_summary import distrust
from collect.execute.spec import RunRequest, new_spec, run_config_of
from collect.http_client.pool import CompletionQueue
from collect.limits import Gate, Limiter
from collect.plan.plan import make_plan
from collect.runners.base import RunnerContext
from collect.runners.chat import LlmProbe
from collect.runners.loop_clock import LoopClock
from schemas.config.checks import DeterministicCheck
from schemas.config.prices import Price, PriceTable
from schemas.config.project import Thresholds
from schemas.config.validators import Validator
from schemas.errors import ConfigError

# ---- validators: the same answer passes with one value and fails with the other


def keyed(*rules):
    return {"type": "json_keys", "key_rules": {"a": list(rules)}}


def of(kind, **fields):
    return {"type": kind} | fields


VERDICTS = {
    "Exact.value": (of("exact", value="a"), of("exact", value="b"), "a"),
    "OneOf.values": (of("one_of", values=["a"]), of("one_of", values=["b"]), "a"),
    "RegexFullmatch.pattern": (
        of("regex_fullmatch", pattern="a+"), of("regex_fullmatch", pattern="b+"), "aa"),
    "Contains.value": (of("contains", value="a"), of("contains", value="b"), "an a"),
    "Contains.values": (
        of("contains", values=["a"], match="all"), of("contains", values=["b"], match="all"), "a"),
    "Contains.match": (
        of("contains", values=["a", "b"], match="any"),
        of("contains", values=["a", "b"], match="all"), "a"),
    "NotContains.value": (of("not_contains", value="b"), of("not_contains", value="a"), "an a"),
    "NotContains.values": (
        of("not_contains", values=["b"]), of("not_contains", values=["b", "a"]), "a"),
    "RegexSearch.pattern": (
        of("regex_search", pattern="a+"), of("regex_search", pattern="b"), "an a"),
    "Number.value": (of("number", value=2), of("number", value=3), "It is 2."),
    "Number.tolerance": (
        of("number", value=3, tolerance=1), of("number", value=3, tolerance=0.9), "2"),
    "Number.occurrence": (
        of("number", value=2), of("number", value=2, occurrence="only"), "1 + 1 = 2"),
    "MaxWords.value": (of("max_words", value=2), of("max_words", value=1), "a b"),
    "MaxSentences.value": (of("max_sentences", value=2), of("max_sentences", value=1), "A. B."),
    "ExactBullets.value": (of("exact_bullets", value=2), of("exact_bullets", value=1), "- a\n- b"),
    "JsonKeys.required_keys": (
        of("json_keys", required_keys=["a"]), of("json_keys", required_keys=["b"]), '{"a": 1}'),
    "JsonKeys.key_rules": (keyed(of("number")), keyed(of("number"), of("null")), '{"a": 1}'),
    "TypeRule.type": (keyed(of("integer")), keyed(of("string")), '{"a": 1}'),
    "OneOfRule.values": (
        keyed(of("one_of", values=[1])), keyed(of("one_of", values=[2])), '{"a": 1}'),
    "RegexRule.pattern": (
        keyed(of("regex", pattern="x")), keyed(of("regex", pattern="y")), '{"a": "x"}'),
    "RangeRule.min": (keyed(of("range", min=1)), keyed(of("range", min=2)), '{"a": 1}'),
    "RangeRule.max": (keyed(of("range", max=1)), keyed(of("range", max=0)), '{"a": 1}'),
    "ToolInvocation.expected_tools": (
        of("tool_invocation", expected_tools=["df"]),
        of("tool_invocation", expected_tools=["free"]), "`df -h`"),
}  # fmt: skip


@pytest.mark.parametrize("field", VERDICTS)
def test_a_field_of_a_validator_decides(field):
    *validators, answer = VERDICTS[field]
    adapter = TypeAdapter(Validator)

    def passed(written):
        return asyncio.run(judge(adapter.validate_python(written), answer)).objective_pass

    assert [passed(one) for one in validators] == [True, False]


# ---- checks: the same trial gives two outcomes


def check(kind, **fields):
    return {"check_id": "c", "declarative": {"kind": kind} | fields}


PRESENT = check("final_response_present")
COUNT_9 = check("tool_call_count", count=9)

CHECKED = {
    "ToolCallCount.count": (check("tool_call_count", count=2), COUNT_9),
    "FileExists.path": (check("file_exists", path="a"), check("file_exists", path="b")),
    "PathExists.path": (check("path_exists", path="a"), check("path_exists", path="b")),
    "FileContains.path": (
        check("file_contains", path="a", text="x"), check("file_contains", path="b", text="x")),
    "FileContains.text": (
        check("file_contains", path="a", text="x"), check("file_contains", path="a", text="y")),
    "StatusIs.status": (
        check("status_is", status="success"), check("status_is", status="failed")),
    "DeterministicCheck.declarative": (PRESENT, COUNT_9),
    "DeterministicCheck.check_id": (PRESENT, PRESENT | {"check_id": "d"}),
    "DeterministicCheck.description": (COUNT_9, COUNT_9 | {"description": "Calls nine tools."}),
}  # fmt: skip


@pytest.mark.parametrize("field", CHECKED)
def test_a_field_of_a_check_decides_or_is_in_its_result(field, tmp_path):
    (tmp_path / "a").write_text("x")
    trial = Trial(final_text="hi", n_tool_calls=2, status="success", folder=tmp_path)

    one, other = (
        run_check(DeterministicCheck.model_validate(written), trial) for written in CHECKED[field]
    )

    assert one != other
    if field == "DeterministicCheck.description":
        assert (one.message, other.message) == (
            "got 2, want 9", "Calls nine tools: got 2, want 9")  # fmt: skip


# ---- what goes over the wire

USER = {"role": "user", "content": "Say x."}


class World:
    """A project of one case and one model at the scripted endpoint; fields are put into it."""

    def __init__(self, project, endpoint):
        self.project, self.endpoint = project, endpoint
        self.fields, self.input = {}, {"messages": [USER]}
        self.model = {"model_id": "m", "provider": "ollama_openai", "base_url": endpoint.base_url}
        self.settings, self.override, self.policy = {"retries": 0, "seed": 5}, {}, {}
        self.suite, self.title = {}, "Profile"
        project.write("configs/cases/group/one/a.txt", "attached")
        project.write("configs/cases/group/one/m.yaml", '- {role: user, content: "filed"}')
        project.case("two", tags=["other"])

    def loaded(self, **options):
        p = self.project
        p.case("one", **({"input": self.input} | self.fields))
        p.suite(**({"models": [self.model], "title": "Suite"} | self.suite))
        p.profile(
            title=self.title,
            runner_defaults=self.settings,
            model_overrides=self.override,
            execution_policy=self.policy,
        )
        return p.load(**options)

    def request(self):
        """Return the request of repetition 2 of the first case, as the endpoint received it."""
        inputs = self.loaded()
        trials = [one for one in make_plan(inputs, "r") if one.case_id == inputs.cases[0].case_id]

        async def ask():
            context = RunnerContext(self.project.root, LoopClock(), CompletionQueue())
            runner = LlmProbe(inputs.models[0], context)
            place = await Limiter(Gate(1), 1).enter()
            trial = trials[0].model_copy(update={"repetition": 2})
            await runner.run(trial, inputs.cases[0], place)
            await runner.aclose()

        asyncio.run(ask())
        return self.endpoint.requests[-1]


@pytest.fixture
def world(project, endpoint, monkeypatch):
    monkeypatch.setenv("TEAM_API_KEY", "k-123456")
    return World(project, endpoint)


def put(attribute, **fields):
    def change(world):
        setattr(world, attribute, getattr(world, attribute) | fields)

    return change


def body(name):
    return lambda request: request.body.get(name)


def texts(request):
    return [message["content"] for message in request.body["messages"]]


def first(name):
    return lambda request: request.body["messages"][0].get(name)


def source(**fields):
    return put("input", messages=[{"role": "user", "source": {"path": "m.yaml"} | fields}])


SPECIAL = "openai_responses"

WIRE = {
    "Case.runner": (
        put("fields", runner={"type": "llm_probe", "max_tokens": 6}), body("max_tokens"), 6),
    "CaseInput.messages": (put("input", messages=[USER, USER]), texts, ["Say x.", "Say x."]),
    "CaseInput.attachments": (
        put("input", attachments=["a.txt"]), lambda request: len(texts(request)), 2),
    "Message.role": (put("input", messages=[USER | {"role": "system"}]), first("role"), "system"),
    "Message.content": (put("input", messages=[USER | {"content": "y"}]), texts, ["y"]),
    "Message.name": (put("input", messages=[USER | {"name": "n"}]), first("name"), "n"),
    "MessageSource.path": (source(), texts, ["filed"]),
    "ProfileSettings.temperature": (put("settings", temperature=0.5), body("temperature"), 0.5),
    "ProfileSettings.top_p": (put("settings", top_p=0.5), body("top_p"), 0.5),
    "ProfileSettings.max_tokens": (put("settings", max_tokens=7), body("max_tokens"), 7),
    "ProfileSettings.seed": (put("settings", seed=9), body("seed"), 9),
    "ProfileSettings.seed_per_repetition": (
        put("settings", seed_per_repetition=True), body("seed"), 6),
    "ProfileSettings.stream": (put("settings", stream=False), body("stream"), False),
    "RunProfile.model_overrides": (put("override", m={"seed": 8}), body("seed"), 8),
    "a setting on the suite's model": (put("model", seed=7), body("seed"), 7),
    "ModelConfig.model_id": (put("model", model_id="other"), body("model"), "other"),
    "ModelConfig.requested_model": (put("model", requested_model="r"), body("model"), "r"),
    "ModelConfig.openrouter_model": (put("model", openrouter_model="o"), body("model"), "o"),
    "ModelConfig.model_name": (put("model", model_name="n"), body("model"), "n"),
    "ModelConfig.request_options": (put("model", request_options={"min_p": 1}), body("min_p"), 1),
    "ModelConfig.thinking_level": (
        put("model", thinking_level="low"), body("reasoning_effort"), "low"),
    "ModelConfig.primary_params": (
        put("model", primary_params={"reasoning": {"effort": "low"}}),
        body("reasoning_effort"), "low"),
    "ModelConfig.api_key_env": (
        put("model", api_key_env="TEAM_API_KEY"),
        lambda request: request.headers.get("authorization"), "Bearer k-123456"),
    "ModelConfig.provider": (
        lambda world: (put("model", provider=SPECIAL)(world), world.settings.pop("seed")),
        lambda request: request.line.split()[1], "/v1/responses"),
    "ModelConfig.base_url": (
        lambda world: world.model.update(base_url=world.model["base_url"] + "/deep"),
        lambda request: request.line.split()[1], "/v1/deep/chat/completions"),
}  # fmt: skip


@pytest.mark.parametrize("field", WIRE)
def test_a_field_changes_the_request(field, world):
    change, look, expected = WIRE[field]
    before = look(world.request())
    change(world)

    assert look(world.request()) == expected != before


def test_a_format_refuses_what_it_does_not_say(world):
    source(format="yaml")(world)
    assert texts(world.request()) == ["filed"]

    source(format="json")(world)
    with pytest.raises(ConfigError, match=r"m\.yaml:1: is not valid JSON, which `format` says"):
        world.loaded()


# ---- what is planned, and what people read of it


def ids(inputs):
    return [case.case_id for case in inputs.cases]


def trial(name):
    return lambda inputs: getattr(make_plan(inputs, "r")[0], name)


def config(look):
    return lambda inputs: look(
        run_config_of(inputs, new_spec(inputs, RunRequest(Path("runs")), print), "r")
    )


def selects(**lists):
    return put("suite", case_selection=lists)


def listed(**fields):
    """Put a prompt list in the place of the cases, its one prompt with a field of the test's."""

    def change(world):
        world.project.prompts("list.json", [{"id": "P", "prompt": "x"} | fields])
        world.suite = {"prompt_lists": ["list.json"]}

    return change


EXACT = {"type": "exact", "value": "x"}

PLANNED = {
    "Case.title": (put("fields", title="New"), trial("prompt_name"), "New"),
    "Case.tags": (put("fields", tags=["t"]), trial("tags"), ("t",)),
    "Case.cluster": (put("fields", cluster="a/b"), trial("cluster"), "a/b"),
    "Case.validator": (put("fields", validator=EXACT), trial("is_scorable"), True),
    "Case.expected_tool_calls": (
        put("fields", expected_tool_calls=["df"]), trial("expected_tools"), ("df",)),
    "Case.deterministic_checks": (
        put("fields", deterministic_checks=[PRESENT]), trial("is_scorable"), True),
    "Suite.title": (put("suite", title="New"), config(lambda it: it.suite_title), "New"),
    "Suite.prompt_lists": (listed(), ids, ["p"]),
    "CaseSelection.include_case_ids": (selects(include_case_ids=["two"]), ids, ["two"]),
    "CaseSelection.exclude_case_ids": (selects(exclude_case_ids=["one"]), ids, ["two"]),
    "CaseSelection.include_tags": (selects(include_tags=["other"]), ids, ["two"]),
    "CaseSelection.exclude_tags": (selects(exclude_tags=["other"]), ids, ["one"]),
    "Prompt.id": (listed(id="Q"), trial("prompt_id"), "Q"),
    "Prompt.name": (listed(name="N"), trial("prompt_name"), "N"),
    "Prompt.prompt": (listed(prompt="y"), lambda it: it.cases[0].messages[0]["content"], "y"),
    "PromptMessage.role": (
        listed(prompt=None, messages=[USER | {"role": "system"}]),
        lambda it: it.cases[0].messages[0]["role"], "system"),
    "PromptMessage.content": (
        listed(prompt=None, messages=[USER, USER | {"content": "y"}]),
        lambda it: [one["content"] for one in it.cases[0].messages], ["Say x.", "y"]),
    "PromptMessage.name": (
        listed(prompt=None, messages=[USER | {"name": "n"}]),
        lambda it: it.cases[0].messages[0].get("name"), "n"),
    "Prompt.validator": (listed(validator=EXACT), trial("is_scorable"), True),
    "Prompt.expected_tool_calls": (
        listed(expected_tool_calls=["df"]), trial("expected_tools"), ("df",)),
    "Prompt.variant": (listed(variant="v"), trial("tags"), ("v",)),
    "Prompt.cluster": (listed(cluster="a/b"), trial("cluster"), "a/b"),
    "ModelConfig.label": (put("model", label="L"), config(lambda it: it.models[0].label), "L"),
    "ExecutionPolicy.run_repetitions": (
        put("policy", run_repetitions=3), lambda inputs: len(make_plan(inputs, "r")), 6),
    "RunProfile.title": (
        lambda world: setattr(world, "title", "New"),
        lambda inputs: plan_text(preview(inputs, inputs.suite_path)).splitlines()[1],
        "run profile p (New)"),
}  # fmt: skip


@pytest.mark.parametrize("field", PLANNED)
def test_a_field_changes_the_plan_or_what_is_read_of_it(field, world):
    change, look, expected = PLANNED[field]
    before = look(world.loaded())
    change(world)

    assert look(world.loaded()) == expected != before


# ---- benchlake.yaml

GROUP = {"model_id": "m", "coverage": 0.9, "n_timeout": 3, "n_planned": 100, "n_total": 100,
         "failures": {"output_truncated": 3}}  # fmt: skip


def doubts(**limits):
    quiet = {"min_coverage": 0, "timeout_warning_share": 1, "truncation_warning_share": 1}
    return len(distrust([GROUP], Thresholds(**(quiet | limits))))


LIMITS = {
    "Thresholds.pass_rate_margin": (
        lambda margin: effective_margin(0.5, Thresholds(pass_rate_margin=margin)), 0.05, 0.1),
    "Thresholds.min_coverage": (lambda least: doubts(min_coverage=least), 0.8, 0.95),
    "Thresholds.timeout_warning_share": (
        lambda most: doubts(timeout_warning_share=most), 0.01, 0.05),
    "Thresholds.truncation_warning_share": (
        lambda most: doubts(truncation_warning_share=most), 0.01, 0.05),
    "Thresholds.alpha": (lambda alpha: Planner(Thresholds(alpha=alpha)).least_cases, 0.05, 0.001),
    "Thresholds.power": (
        lambda power: Planner(Thresholds(power=power)).smallest(100, 1), 0.8, 0.9),
    "Thresholds.tier_1_from": (lambda rate: tier_of(0.85, Thresholds(tier_1_from=rate)), 0.8, 0.9),
    "Thresholds.tier_2_from": (lambda rate: tier_of(0.6, Thresholds(tier_2_from=rate)), 0.5, 0.7),
}  # fmt: skip


@pytest.mark.parametrize("field", LIMITS)
def test_a_threshold_changes_what_is_concluded(field):
    conclude, one, other = LIMITS[field]

    assert conclude(one) != conclude(other)


PRICE = {"model": "m", "valid_from": "2026-01-01", "input_usd_per_million": 1,
         "output_usd_per_million": 2, "cached_input_usd_per_million": 1,
         "cache_write_usd_per_million": 1, "reasoning_usd_per_million": 2}  # fmt: skip


@pytest.mark.parametrize("field", Price.model_fields)
def test_a_field_of_a_price_changes_the_cost(field):
    changed = {"model": "n", "valid_from": "2026-12-01"}.get(field, 9)

    def cost(written):
        table = PriceTable((Price.model_validate(written),))
        found = table.find("m", date(2026, 6, 1), list_prices=False)
        tokens = {"input": 10, "output": 10, "cached": 2, "cache_write": 3, "reasoning": 4}
        return None if found is None else found.cost_nano_usd(**tokens)

    assert cost(PRICE) != cost(PRICE | {field: changed})

"""Where a model is asked, which key may go there, and which layer set each setting."""

import re

import pytest

from collect.config.endpoints import distance, looks_like_transport
from collect.config.unsupported import RESERVED
from schemas.errors import ConfigError


def said(project, **options):
    with pytest.raises(ConfigError) as caught:
        project.load(**options)
    return str(caught.value)


def model(project, **options):
    (resolved,) = project.load(**options).models
    return resolved


# ---- transports


def test_a_transport_has_its_usual_address(project, monkeypatch):
    project.case()
    project.model()
    assert model(project).base_url == "http://localhost:11434/v1"

    monkeypatch.setenv("OLLAMA_OPENAI_BASE", "http://127.0.0.1:1234/v1/")
    assert model(project).base_url == "http://127.0.0.1:1234/v1"

    project.model(base_url="http://[::1]:5/v1")
    assert model(project).base_url == "http://[::1]:5/v1"
    assert model(project).is_loopback


@pytest.mark.parametrize(
    "provider",
    ["ollama", "local", "lmstudio", "vllm", "llamacpp", "claude", "responses", "ollama_openia",
     "openai_caht", "open_router", "Ollama", "lm-studio", "llama.cpp"],
)  # fmt: skip
def test_a_typing_error_never_becomes_a_vendor_in_a_paid_cloud(project, provider):
    project.case()
    project.model(provider=provider)

    assert "looks like the transport or server" in said(project)


@pytest.mark.parametrize(
    "vendor", ["openai", "anthropic", "meta-llama", "qwen", "mistralai", "x-ai"]
)
def test_a_vendor_prefix_means_openrouter(project, vendor):
    project.case()
    project.model(provider=vendor, requested_model=None, model_name="name-1")

    resolved = model(project)
    assert looks_like_transport(vendor) is None
    assert (resolved.provider, resolved.model) == ("openrouter", f"{vendor}/name-1")
    assert resolved.base_url == "https://openrouter.ai/api/v1"
    assert (resolved.api_key_env, resolved.key_required) == ("OPENROUTER_API_KEY", True)


def test_a_vendor_prefix_does_not_stand_before_a_name_that_has_one(project):
    project.case()
    project.model(provider="openai", requested_model=None, model_name="azure/gpt-4o")

    assert model(project).model == "azure/gpt-4o"


@pytest.mark.parametrize(
    ("provider", "base_url", "key"),
    [
        ("openai_chat", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("openai_responses", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("claude_code_cli", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("anthropic_messages", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    ],
)
def test_every_transport_has_its_address_and_its_key(project, provider, base_url, key):
    project.case()
    project.model(provider=provider)
    project.profile(runner_defaults={"max_tokens": 9})

    resolved = model(project)
    assert (resolved.base_url, resolved.api_key_env) == (base_url, key)
    assert resolved.key_required


def test_no_provider_means_openrouter_and_is_said_aloud(project):
    project.case()
    project.suite(models=[{"model_id": "m", "model_name": "vendor/x"}])

    loaded = project.load()
    assert loaded.models[0].provider == "openrouter"
    assert any("names no provider: it is asked through OpenRouter" in w for w in loaded.warnings)


# ---- routing


@pytest.mark.parametrize(
    ("name", "options", "routing"),
    [
        ("v/m", {}, "unpinned"),
        ("v/m", {"provider": {"only": ["together"]}}, "pinned"),
        ("v/m", {"provider": {"only": ["together", "groq"]}}, "unpinned"),
        ("v/m", {"provider": {"order": ["together"]}}, "unpinned"),
        ("v/m", {"provider": {"order": ["together"], "allow_fallbacks": False}}, "pinned"),
        ("v/m", {"provider": {"order": ["a", "b"], "allow_fallbacks": False}}, "unpinned"),
        ("openrouter/auto", {"provider": {"only": ["a"]}}, "unpinned"),
        ("v/m", {"provider": "together"}, "unpinned"),
        ("v/m:nitro", {"provider": {"sort": "price"}}, "unpinned"),
    ],
)
def test_routing_is_pinned_when_one_upstream_alone_may_serve(project, name, options, routing):
    project.case()
    project.model(provider="openrouter", requested_model=name, request_options=options)

    loaded = project.load()
    assert loaded.models[0].routing == routing
    assert any("OpenRouter chooses who serves" in w for w in loaded.warnings) == (
        routing == "unpinned"
    )


def test_there_is_no_routing_without_a_router(project):
    project.case()
    project.model()

    assert model(project).routing is None
    assert project.load().warnings == ()


# ---- what a transport cannot send


def test_a_profile_wide_setting_that_cannot_be_sent_is_left_out_and_said_once(project):
    project.case()
    project.model(provider="claude_code_cli")
    project.profile(runner_defaults={"temperature": 0, "seed": 3, "max_tokens": 9})

    loaded = project.load()
    resolved = loaded.models[0]
    assert resolved.not_applied == ("temperature", "seed")
    assert resolved.settings.keys() == {"max_tokens", "timeout_seconds", "retries", "max_turns"}
    assert [w for w in loaded.warnings if "not applied" in w] == [
        f"{project.suite_path}: model `m`: `claude_code_cli` cannot send `temperature`, `seed` of "
        "runner_defaults: not applied"
    ]


def test_what_a_transport_leaves_out_by_itself_is_not_worth_a_word(project):
    project.case()
    project.model(provider="claude_code_cli")

    loaded = project.load()
    assert loaded.models[0].not_applied == ()
    assert loaded.warnings == ()


@pytest.mark.parametrize("provider", ["openai_responses", "claude_code_cli"])
def test_a_models_own_setting_that_cannot_be_sent_is_refused(project, provider):
    project.case()
    project.model(provider=provider, seed=1)

    assert f"`models[0].seed`: `{provider}` cannot send it; found `1`; allowed: " in said(project)

    project.model(provider=provider)
    project.profile(model_overrides={"m": {"seed": 2}})
    assert "cannot send it: model_overrides.m.seed of `p`" in said(project)


def test_a_cases_setting_that_a_model_cannot_be_sent_is_refused(project):
    path = project.case(runner={"type": "llm_probe", "seed": 4})
    project.model(provider="openai_responses")

    problem = said(project)
    assert str(path) in problem
    assert "`runner.seed`: `openai_responses` cannot send it" in problem

    project.model()
    assert project.load().models


@pytest.mark.parametrize("option", ["tools", "tool_choice"])
def test_tools_of_a_model_do_not_take_the_place_of_a_cases_own(project, option):
    context = {"llm_probe": {"tools": ["exec_shell"]}}
    project.case(input={"messages": [{"role": "user", "content": "Hi."}], "context": context})
    project.model(request_options={option: "none", "parallel_tool_calls": False})

    problem = said(project)

    where = (
        "one/test.yaml: `input.context.llm_probe.tools`: case `one` offers tools of its own, and"
    )
    assert f"{where} `request_options.{option}` of model `m` would take their place" in problem
    project.case()
    assert project.load().models


def test_a_dialogue_is_not_for_a_cli(project):
    turns = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Bye."},
    ]
    project.case(input={"messages": turns})
    project.model(provider="claude_code_cli")
    assert "case `one`: `claude_code_cli` takes a system prompt and what the user" in said(project)

    project.model(provider="openai_responses")
    assert project.load().models


def test_a_server_that_has_to_be_told_how_long_an_answer_may_be_is_told(project):
    project.case()
    project.model(provider="anthropic_messages")

    assert (
        "`anthropic_messages` refuses a request without `max_tokens`, and case `one` has none for "
        "model `m`; write `max_tokens` under `runner_defaults` of the run profile"
    ) in said(project)

    project.model(provider="anthropic_messages", max_tokens=9)
    assert project.load().models
    project.model(provider="anthropic_messages", request_options={"max_tokens": 9})
    assert project.load().models
    project.model(provider="anthropic_messages")
    project.case(runner={"type": "llm_probe", "max_tokens": 9})
    assert project.load().models


def test_a_system_message_behind_others_goes_where_it_can_stand(project):
    roles = ("system", "user", "assistant", "system", "user")
    project.case(input={"messages": [{"role": role, "content": "x"} for role in roles]})
    project.model(provider="anthropic_messages", max_tokens=9)

    assert "`anthropic_messages` takes system messages at the beginning alone" in said(project)

    project.case(input={"messages": [{"role": role, "content": "x"} for role in roles[:3]]})
    assert project.load().models


@pytest.mark.parametrize("provider", ["openai_responses", "claude_code_cli", "anthropic_messages"])
def test_a_message_with_a_name_goes_where_names_go(project, provider):
    project.case(input={"messages": [{"role": "user", "content": "Hi.", "name": "ann"}]})
    project.model(provider=provider)
    assert f"case `one`: `{provider}` cannot send the name of a message" in said(project)

    project.model()
    assert project.load().models


@pytest.mark.parametrize(
    ("provider", "level", "is_right"),
    [
        ("claude_code_cli", "max", True),
        ("claude_code_cli", "minimal", False),
        ("openrouter", "minimal", True),
        ("openrouter", "hardest", False),
        ("ollama_openai", "anything", True),
        ("openai_responses", "anything", True),
        ("anthropic_messages", "none", True),
        ("anthropic_messages", "minimal", False),
    ],
)
def test_a_thinking_level_that_cannot_be_asked_for_is_refused(project, provider, level, is_right):
    project.case()
    project.model(provider=provider, thinking_level=level, max_tokens=9)
    if is_right:
        assert model(project).thinking_level == level
    else:
        message = f"`models[0].thinking_level`: `{provider}` cannot ask for it; found `{level}`"
        assert message in said(project)


@pytest.mark.parametrize("provider", ["claude_code_cli", "anthropic_messages"])
def test_the_address_of_anthropics_api_has_no_v1(project, provider):
    project.case()
    project.model(provider=provider, base_url="http://127.0.0.1:11434/v1/")

    assert f"`models[0].base_url`: ends in `/v1`, which `{provider}` adds by itself" in said(
        project
    )
    assert "write `http://127.0.0.1:11434`" in said(project)


def test_only_a_cli_runs_a_command(project):
    project.case()
    project.model(executable="/opt/x")
    assert "`models[0].executable`: `ollama_openai` runs no command" in said(project)

    project.model(provider="claude_code_cli", executable="/opt/x")
    assert model(project).executable == "/opt/x"
    project.model(provider="claude_code_cli")
    assert model(project).executable == "claude"


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        ({"requested_model": "a", "model_name": "b"}, "a"),
        ({"requested_model": None, "openrouter_model": "o", "model_name": "b"}, "o"),
        ({"requested_model": None, "model_name": "b"}, "b"),
        ({"requested_model": None}, "m"),
    ],
)
def test_the_model_string_follows_the_documents_order(project, names, asked):
    project.case()
    project.model(**names)

    assert model(project).model == asked


@pytest.mark.parametrize(
    ("one", "other", "letters"), [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0)]
)
def test_distance_counts_letters(one, other, letters):
    assert distance(one, other) == distance(other, one) == letters


def test_two_models_cannot_share_an_id(project):
    project.case()
    project.suite(models=[{"model_id": "m", "provider": "ollama_openai"}] * 2)

    assert "`models[1].model_id`: is used twice" in said(project)


# ---- keys


@pytest.mark.parametrize(
    ("fields", "hosts", "message"),
    [
        ({}, (), "OPENAI_API_KEY is not sent there"),
        ({"api_key_env": "OPENAI_API_KEY"}, ("h.example",), "a key variable of its own"),
        ({"api_key_env": "MY_SECRET"}, ("h.example",), "ends in _API_KEY or _TOKEN"),
        ({"api_key_env": "MY_API_KEY"}, (), "pass `--allow-host h.example`"),
        ({"api_key_env": "MY_API_KEY"}, ("other.example",), "pass `--allow-host h.example`"),
        ({"api_key_env": "MY_API_KEY"}, ("h.example",), None),
        ({"api_key_env": "MY_TOKEN"}, ("H.Example",), None),
    ],
)
def test_a_key_goes_to_another_host_only_when_all_agree(project, fields, hosts, message):
    project.case()
    project.model(provider="openai_chat", base_url="https://h.example/v1", **fields)

    if message is None:
        assert model(project, allowed_hosts=hosts).key_required
    else:
        assert message in said(project, allowed_hosts=hosts)


@pytest.mark.parametrize(
    ("url", "name", "message"),
    [
        ("http://api.openai.com/v1", None, "over https only"),
        ("https://api.openai.com/v1", "ANTHROPIC_API_KEY", "the key of another service"),
        ("https://api.openai.com/v1", "HOME", "ends in _API_KEY or _TOKEN"),
        ("http://127.0.0.1:1/v1", "HOME", "ends in _API_KEY or _TOKEN"),
        ("https://h.example/v1", "OPENROUTER_API_KEY", "a key variable of its own"),
    ],
)
def test_no_other_secret_goes_anywhere(project, url, name, message):
    project.case()
    project.model(provider="openai_chat", base_url=url, **({"api_key_env": name} if name else {}))

    assert message in said(project, allowed_hosts=("h.example",))


@pytest.mark.parametrize(
    "provider",
    ["openai_chat", "openai_responses", "openrouter", "claude_code_cli", "anthropic_messages"],
)
def test_no_transports_key_goes_to_a_foreign_host(project, provider):
    project.case()
    project.model(provider=provider, base_url="https://h.example")
    assert "is not a host of this transport" in said(project, allowed_hosts=("h.example",))


def test_the_token_of_a_subscription_goes_to_its_vendor_alone(project):
    project.case()
    token = {"provider": "claude_code_cli", "api_key_env": "CLAUDE_CODE_OAUTH_TOKEN"}
    project.model(**token)
    assert model(project).api_key_env == "CLAUDE_CODE_OAUTH_TOKEN"

    project.model(**token, base_url="https://h.example")
    assert "a key variable of its own" in said(project, allowed_hosts=("h.example",))
    project.model(**token | {"provider": "openai_chat"})
    assert "the key of another service" in said(project)


def test_a_foreign_host_hides_no_other_mistake(project):
    project.case()
    wrong = {"base_url": "https://h.example", "thinking_level": "ultra", "seed": 1}
    project.model(provider="claude_code_cli", executable="x", **wrong)

    problems = said(project)
    for field in ("base_url", "thinking_level", "seed"):
        assert f"`models[0].{field}`" in problems


def test_request_options_that_make_another_question_answer_or_bill_are_refused(project):
    project.case()
    project.model(request_options=dict.fromkeys([*RESERVED, "min_p", "tools"], "x"))

    problems = said(project).splitlines()

    assert len(problems) == len(RESERVED)
    for name, why in RESERVED.items():
        where = (
            f"s.yaml:6: `models[0].request_options.{name}`: cannot be a request option: it {why}"
        )
        assert any(where.removeprefix("s.yaml:6: ") in one for one in problems), name
    assert all(re.search(r"s\.yaml:\d+: ", one) for one in problems), "each has its file and line"


@pytest.mark.parametrize(
    "lookalike",
    ["https://api.openai.com.evil.example/v1", "https://evil.example/api.openai.com",
     "https://localhost.evil.example/v1", "https://127.0.0.1.evil.example/v1"],
)  # fmt: skip
def test_a_host_that_only_looks_like_ours_gets_no_key(project, lookalike):
    project.case()
    project.model(provider="openai_chat", base_url=lookalike)

    assert "is not a host of this transport" in said(project)


def test_a_variable_of_the_environment_moves_no_key_either(project, monkeypatch):
    project.case()
    project.model(provider="openai_chat")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://evil.example/v1")

    assert "is not a host of this transport" in said(project)


def test_a_server_without_a_key_may_be_anywhere(project):
    project.case()
    project.model(base_url="http://ollama.lan.example:11434/v1")

    assert not model(project).key_required


@pytest.mark.parametrize(
    "url",
    ["localhost:11434", "ftp://localhost/v1", "http://", "http://u:p@localhost/v1",
     "http://localhost/v1?key=x", "http://localhost:99999/v1", "http://[::1/v1"],
)  # fmt: skip
def test_what_is_no_base_url_is_refused(project, url):
    project.case()
    project.model(base_url=url)

    assert "`models[0].base_url`" in said(project)


# ---- settings


def test_each_setting_knows_the_layer_that_set_it(project):
    project.case(runner={"type": "llm_probe", "seed": 4})
    project.profile(
        runner_defaults={"temperature": 0.1, "max_tokens": 1, "top_p": 0.1, "seed": 1},
        model_overrides={"m": {"max_tokens": 2, "top_p": 0.2, "seed": 2}},
    )
    project.model(top_p=0.3, seed=3)

    inputs = project.load()
    (resolved,), (case,) = inputs.models, inputs.cases
    found = {name: (one.value, one.origin) for name, one in resolved.settings.items()}

    assert found["timeout_seconds"] == (30, "default")
    assert found["retries"] == (5, "default")
    assert found["max_turns"] == (8, "default")
    assert found["stream"] == (True, "default")
    assert found["temperature"] == (0.1, "runner_defaults")
    assert found["max_tokens"] == (2, "model_overrides")
    assert found["top_p"] == (0.3, "suite_model")
    assert found["seed"] == (3, "suite_model")
    assert resolved.setting("seed", case) == 4, "the case's own wins"
    assert resolved.setting("top_p", case) == 0.3


def test_a_case_can_take_a_setting_back(project):
    project.case(runner={"type": "llm_probe", "temperature": None})
    project.profile(runner_defaults={"temperature": 1})
    project.model()

    inputs = project.load()

    assert inputs.models[0].setting("temperature", inputs.cases[0]) is None


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"runner_defaults": {"temperatur": 0}}, "did you mean `temperature`?"),
        ({"runner_defaults": {"max_tokens": "many"}}, "`runner_defaults.max_tokens`"),
        ({"model_overrides": {"m": {"top_p": 2}}}, "`model_overrides.m.top_p`"),
        ({"execution_policy": {"max_concurrency": 0}}, "`execution_policy.max_concurrency`"),
        ({"execution_policy": {"fail_fast": "yes"}}, "`execution_policy.fail_fast`"),
        ({"runner_defaults": {"seed_per_repetition": True}}, "needs a `seed`"),
    ],
)
def test_a_mistake_in_a_run_profile_is_explained(project, where, message):
    project.case()
    project.profile(**where)

    assert message in said(project)


def test_a_setting_on_the_suites_model_is_checked_too(project):
    project.case()
    project.model(temperature="hot")

    assert "`models[0].temperature`: should be a valid number; found `hot`" in said(project)


def test_a_field_that_nothing_reads_is_said_and_one_that_is_almost_known_is_refused(project):
    project.case()
    project.model(my_note="x")
    assert "`models[0].my_note` is passed through, but nothing reads it" in str(
        project.load().warnings
    )

    project.model(requestd_model="x")
    assert "did you mean `requested_model`?" in said(project)


def test_reasoning_effort_and_thinking_level_are_one_thing(project):
    project.case()
    effort = {"reasoning": {"effort": "high"}}
    project.model(primary_params=effort)
    assert model(project).thinking_level == "high"

    project.model(primary_params=effort, thinking_level="high")
    assert model(project).thinking_level == "high"

    project.model(primary_params=effort, thinking_level="low")
    assert "`reasoning.effort` is `high`, and thinking_level is `low`" in said(project)

    project.model(primary_params={"reasoning": {"effort": 3}})
    assert "must be text" in said(project)

    project.model(primary_params={"max_tokens": 5})
    assert "`models[0].primary_params` is for openclaw cases" in project.load().warnings[0]


def test_an_override_for_a_model_of_another_suite_is_a_warning(project):
    project.case()
    project.profile(model_overrides={"other": {"seed": 1}})

    assert "model_overrides names `other`" in project.load().warnings[0]


def test_a_models_own_concurrency_is_at_most_the_profiles(project):
    project.case()
    project.profile(execution_policy={"max_concurrency": 4})
    project.model(max_concurrency=2)
    assert model(project).max_concurrency == 2

    project.model(max_concurrency=9)
    assert model(project).max_concurrency == 4
